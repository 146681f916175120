import Coordinators

// snippet: names
enum Stock {
    struct SoldOut: ResponderError {
        static let formerNames = ["Stock.Empty"]
        var sku: String
    }

    struct Closed: ResponderError {}

    struct Reserve: ResponderMessage {
        typealias Reply = Receipt
        typealias Failure = OneOf<SoldOut, Closed>
        static let formerNames = ["Stock.Order"]
        var sku: String
        var count = 1
        var note: String?
    }

    struct Receipt: Codable, Sendable { var number: Int }
}
// end

// snippet: defaults
extension Stock.Reserve {
    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        sku = try fields.decode(String.self, forKey: .sku)
        count = try fields.decodeIfPresent(Int.self, forKey: .count) ?? 1
        note = try fields.decodeIfPresent(String.self, forKey: .note)
    }
}
// end

// snippet: cases
enum Delivery: String, Codable {
    case post, courier, unknown

    init(from decoder: any Decoder) throws {
        self = Delivery(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
}
// end
