import FoundationEssentials

/// A number as the gateway writes it: whole numbers of 64 bits are strings in it, and zeros are left out.
struct EtcdNumber: Codable, Sendable {
    let value: Int64

    init(_ value: Int64) { self.value = value }

    init(_ revision: StoreRevision?) { value = Int64(clamping: revision?.rawValue ?? 0) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let number = Int64(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\" isn't a number of 64 bits")
            }
            value = number
        } else {
            value = try container.decode(Int64.self)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}

/// What is sent to the gateway and what it answers, with its names.
///
/// What isn't used is left out; bytes are texts in base 64.
enum EtcdForms {
    struct Empty: Codable, Sendable {}

    struct Header: Codable, Sendable {
        let revision: EtcdNumber?
    }

    /// One message of an answer that is a stream of them.
    struct Result<Message: Decodable & Sendable>: Decodable, Sendable {
        let result: Message?
        let error: StreamFailure?
    }

    /// What the gateway says when a stream fails, at its beginning or in it.
    struct StreamFailure: Decodable, Sendable {
        let message: String?
        let code: Int?

        enum CodingKeys: String, CodingKey {
            case message
            case code = "grpc_code"
        }
    }

    /// What the gateway says when a request fails.
    struct Failure: Decodable, Sendable {
        let message: String
        let code: Int

        enum CodingKeys: String, CodingKey {
            case error, code
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            // That of a stream has its parts one level further down.
            if let stream = try? container.decode(StreamFailure.self, forKey: .error), let code = stream.code {
                (message, self.code) = (stream.message ?? "error \(code)", code)
            } else {
                message = try container.decode(String.self, forKey: .error)
                code = try container.decode(Int.self, forKey: .code)
            }
        }
    }

    struct Lease: Codable, Sendable {
        let id: EtcdNumber?
        let timeToLive: EtcdNumber?

        enum CodingKeys: String, CodingKey {
            case id = "ID"
            case timeToLive = "TTL"
        }
    }

    struct Credentials: Codable, Sendable {
        let name: String
        let password: String
    }

    struct Token: Codable, Sendable {
        let token: String?
    }

    struct Range: Codable, Sendable {
        let key: Data
        /// The key after the last one; `nil`: the one key.
        var end: Data?

        enum CodingKeys: String, CodingKey {
            case key
            case end = "range_end"
        }
    }

    struct KeyValue: Codable, Sendable {
        let key: Data
        let value: Data?
        let created: EtcdNumber?
        let modified: EtcdNumber?
        let lease: EtcdNumber?

        enum CodingKeys: String, CodingKey {
            case key, value, lease
            case created = "create_revision"
            case modified = "mod_revision"
        }
    }

    struct Listing: Codable, Sendable {
        let header: Header?
        let kvs: [KeyValue]?
    }
}

// Transactions and watches.
extension EtcdForms {
    struct Compare: Codable, Sendable {
        let key: Data
        let target: String
        var result = "EQUAL"
        var created: EtcdNumber?
        var modified: EtcdNumber?
        var lease: EtcdNumber?

        enum CodingKeys: String, CodingKey {
            case key, target, result, lease
            case created = "create_revision"
            case modified = "mod_revision"
        }
    }

    struct Put: Codable, Sendable {
        let key: Data
        let value: Data
        var lease: EtcdNumber?
        var keepsLease: Bool?

        enum CodingKeys: String, CodingKey {
            case key, value, lease
            case keepsLease = "ignore_lease"
        }
    }

    struct Operation: Codable, Sendable {
        var put: Put?
        var range: Range?
        var remove: Range?

        enum CodingKeys: String, CodingKey {
            case put = "request_put"
            case range = "request_range"
            case remove = "request_delete_range"
        }
    }

    struct Transaction: Codable, Sendable {
        let compare: [Compare]
        let success: [Operation]
        let failure: [Operation]
    }

    struct Outcome: Codable, Sendable {
        struct Response: Codable, Sendable {
            let range: Listing?

            enum CodingKeys: String, CodingKey {
                case range = "response_range"
            }
        }

        let header: Header?
        let succeeded: Bool?
        let responses: [Response]?
    }

    struct Watch: Codable, Sendable {
        struct Creation: Codable, Sendable {
            let key: Data
            let end: Data?
            let start: EtcdNumber

            enum CodingKeys: String, CodingKey {
                case key
                case end = "range_end"
                case start = "start_revision"
            }
        }

        let creation: Creation

        enum CodingKeys: String, CodingKey {
            case creation = "create_request"
        }
    }

    struct Event: Codable, Sendable {
        /// `DELETE`; a put has no type.
        let type: String?
        let kv: KeyValue?
    }

    struct WatchMessage: Decodable, Sendable {
        let header: Header?
        let created: Bool?
        let canceled: Bool?
        let reason: String?
        let compacted: EtcdNumber?
        let events: [Event]?

        enum CodingKeys: String, CodingKey {
            case header, created, canceled, events
            case reason = "cancel_reason"
            case compacted = "compact_revision"
        }
    }
}
