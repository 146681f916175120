/// The definition of a number that stands for a name, in one direction of one link.
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

extension DefineName {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(id)
        batch.appendText(text)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let id = try body.integer(NameID.self)
        guard id != 0 else {
            throw WireError(.malformed, "name 0 is the empty string and can't be defined", offset: body.position - 4)
        }
        self.init(id: id, text: try body.text(limit: limits.maximumNameLength))
    }
}
