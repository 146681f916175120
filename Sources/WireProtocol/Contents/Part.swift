/// A part of a frame that is larger than the receiver takes at once.
///
/// The parts of one frame, in their order, contain all its bytes, header included. Other frames may stand between them, but no part of another
/// frame.
public struct Part: Sendable, Hashable {
    /// The place of a part in its frame.
    public enum Place: UInt8, Sendable, Hashable {
        /// The frame begins with this part.
        case first = 1
        /// Neither the first part nor the last.
        case middle = 2
        /// The frame is complete with this part.
        case last = 3
        /// No more parts of the frame follow, and the receiver forgets those that it has.
        case abandoned = 4
    }

    /// The place of the part.
    public var place: Place
    /// Bytes of the frame; none if it's abandoned, and one at least otherwise.
    public var bytes: Bytes

    /// Creates the content of a frame.
    public init(_ place: Place, _ bytes: Bytes = []) {
        self.place = place
        self.bytes = bytes
    }

    /// The size of a part's frame besides its bytes.
    public static let overhead = Frame.headerSize + 1
}

extension Part {
    func encode(into batch: inout [UInt8]) {
        batch.append(place.rawValue)
        batch.append(contentsOf: bytes)
    }

    init(from body: inout ByteReader) throws(WireError) {
        let offset = body.position
        let number = try body.integer(UInt8.self)
        guard let place = Place(rawValue: number) else {
            throw WireError(.malformed, "a part's place is \(number), not 1 to 4", offset: offset)
        }
        self.init(place, body.rest())
        guard bytes.isEmpty == (place == .abandoned) else {
            throw WireError(.malformed, "a part of place \(number) has \(bytes.count) bytes", offset: offset)
        }
    }
}
