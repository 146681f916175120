import Coordinators
import FoundationEssentials

/// The results of a program that has asked coordinators of another build, and was asked by them.
public struct Trial: Codable, Sendable {
    /// The results of each way to ask, by its name.
    public var results: [String: [String: String]] = [:]
    /// The names of the messages from below, as their senders know them.
    public var seen: [String] = []

    public init() {}

    public var json: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }

    public init(json: String) throws { self = try JSONDecoder().decode(Trial.self, from: Data(json.utf8)) }
}
