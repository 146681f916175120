/// The name of a node: one daemon on one machine, unique in its cluster.
///
/// A name has 1 to 63 letters, digits and hyphens, as a host's label has.
public struct NodeName: Hashable, Comparable, Sendable {
    /// The name as it's written.
    public let description: String

    /// Creates a name, or returns `nil` when the text isn't one.
    ///
    /// - Parameter description: 1 to 63 ASCII letters, digits and hyphens, with no hyphen at either end.
    public init?(_ description: String) {
        let bytes = description.utf8
        guard (1...63).contains(bytes.count), bytes.first != UInt8(ascii: "-"), bytes.last != UInt8(ascii: "-") else { return nil }
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"):
                continue
            default: return nil
            }
        }
        self.description = description
    }

    /// Compares the texts.
    public static func < (left: NodeName, right: NodeName) -> Bool {
        left.description < right.description
    }
}

extension NodeName: LosslessStringConvertible {}
