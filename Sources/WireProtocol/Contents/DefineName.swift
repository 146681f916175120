/// A name is given a number, for this direction of this link.
public struct DefineName: Sendable, Hashable {
    /// The number; never 0, which is the empty string.
    public var id: NameID
    /// The name.
    public var text: String

    /// Creates the content of a frame.
    public init(id: NameID, text: String) {
        self.id = id
        self.text = text
    }
}
