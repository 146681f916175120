import WireProtocol

/// A message that nodes exchange before they speak the control protocol.
///
/// The dialler has checked the certificate and the name of the node that it has dialled, and says `hello` with its own name and a random number.
/// That node knows of the dialler's certificate only that it's by the cluster's authority. So it dials the address that the store has of the
/// named node, checks certificate and name there, and asks whether it was dialled with that number (`question`). The answer is `confirmed`, or the
/// end of the connection. Then it says `welcome` on the first connection, and what the hello has asked for begins there: the control protocol, or
/// messages of coordinators.
///
/// A node that doesn't believe the other one ends the connection, and says nothing.
struct NodeGreeting: Hashable, Sendable {
    enum Kind: String {
        case hello, question, confirmed, welcome
    }

    /// What comes after the greeting.
    enum Purpose: String {
        case requests, messages
        /// Requests whose answers are streams; a node that doesn't know the purpose takes them for requests.
        case streams

        /// The version of the greeting, so that a node that doesn't know the purpose says so.
        fileprivate var version: Int64 { self == .messages ? 2 : 1 }
    }

    /// The latest version of the greeting and of what comes after it.
    static let currentVersion: Int64 = 2
    /// The largest size of a greeting, in bytes.
    static let maximumSize = 4096
    /// The time in which both ends have to be done with greeting.
    static let limit = NodeLinks.greetingLimit

    var kind: Kind
    var version: Int64
    var purpose: Purpose
    var cluster: String
    var node: String
    /// The cluster's secret.
    var token: String
    /// The random number of a dial.
    var number: String

    init(_ kind: Kind, by identity: NodeIdentity, number: String, for purpose: Purpose = .requests) {
        (self.kind, self.purpose, version) = (kind, purpose, purpose.version)
        (cluster, node, token, self.number) = (identity.cluster, identity.name, identity.token, number)
    }

    init?(bytes: [UInt8]) {
        guard let json = try? ControlJSON.parse(bytes), case .string(let text)? = json["greeting"], let kind = Kind(rawValue: text),
            case .integer(let version)? = json["v"], case .string(let cluster)? = json["cluster"], case .string(let node)? = json["node"],
            case .string(let token)? = json["token"], case .string(let number)? = json["number"]
        else { return nil }
        (self.kind, self.version) = (kind, version)
        if case .string(let text)? = json["purpose"], let purpose = Purpose(rawValue: text) {
            self.purpose = purpose
        } else {
            purpose = .requests
        }
        (self.cluster, self.node, self.token, self.number) = (cluster, node, token, number)
    }

    var bytes: [UInt8] {
        let json: JSONValue = [
            "greeting": .string(kind.rawValue), "v": .integer(version), "purpose": .string(purpose.rawValue), "cluster": .string(cluster),
            "node": .string(node), "token": .string(token), "number": .string(number),
        ]
        return (try? ControlJSON.bytes(of: json)) ?? []
    }

    /// Returns why a node with this identity has nothing to do with the one that says this; nil: it belongs to the cluster, by what it says.
    func stranger(to identity: NodeIdentity) -> String? {
        guard (1...Self.currentVersion).contains(version) else {
            return "it speaks version \(version) of the greeting, and not 1 to \(Self.currentVersion)"
        }
        if cluster != identity.cluster { return "it's of another cluster" }
        return identity.hasToken(token) ? nil : "it has another token"
    }

    /// Returns a number that can't be guessed.
    static func randomNumber() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
