/// The data that a parent gives a worker at spawn: the address to dial, the secret to show, and the worker's place in the tree.
///
/// The ticket arrives on an inherited descriptor, never in the environment or the arguments, which other processes of the user can read. It is valid
/// as long as the incarnation lives: a worker that has lost its link dials again with the same ticket.
public struct Ticket: Sendable, Hashable {
    /// The version of the ticket's layout that this module reads and writes.
    public static let currentVersion: UInt8 = 1
    /// The incarnation in the ticket of a spare worker, which learns its incarnation from the start frame.
    public static let spareIncarnation: UInt32 = 0
    /// The length of a secret, in bytes.
    public static let secretLength = 32

    /// The version of the ticket's layout.
    public var version: UInt8
    /// The address at which the parent listens, in nng's form: `ipc:///run/…`.
    public var address: String
    /// 32 random bytes that the worker shows in its ``Hello``.
    public var secret: [UInt8]
    /// The path of the worker's coordinator in the tree.
    public var path: String
    /// The number of the coordinator's life at that path, or ``spareIncarnation``.
    public var incarnation: UInt32
    /// The parent's process identifier, by which a strict worker recognises that it has been orphaned already.
    public var parentProcessID: Int32
    /// Whether the worker dies with its parent.
    public var isStrict: Bool
    /// The time that a worker that isn't strict searches for its parent, or for one that adopts it, in milliseconds.
    public var orphanGraceMilliseconds: UInt32
    /// The number of the parent's life among those in its directory: the parent that has the next number adopts the worker; 0: none does.
    public var epoch: UInt32

    /// Creates a ticket.
    ///
    /// The secret must have 32 bytes; a ticket with another secret can't be decoded.
    public init(
        version: UInt8 = Ticket.currentVersion,
        address: String,
        secret: [UInt8],
        path: String,
        incarnation: UInt32,
        parentProcessID: Int32,
        isStrict: Bool,
        orphanGraceMilliseconds: UInt32,
        epoch: UInt32 = 0
    ) {
        self.version = version
        self.address = address
        self.secret = secret
        self.path = path
        self.incarnation = incarnation
        self.parentProcessID = parentProcessID
        self.isStrict = isStrict
        self.orphanGraceMilliseconds = orphanGraceMilliseconds
        self.epoch = epoch
    }
}

extension Ticket: CustomStringConvertible {
    /// The ticket's fields without the secret.
    public var description: String {
        "Ticket(path: \(path), incarnation: \(incarnation), address: \(address), parent: \(parentProcessID))"
    }
}

extension Ticket {
    /// Returns the ticket as the bytes that the worker's descriptor delivers.
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(version)
        bytes.appendInteger(incarnation)
        bytes.appendInteger(parentProcessID)
        bytes.append(isStrict ? 1 : 0)
        bytes.appendInteger(orphanGraceMilliseconds)
        bytes.appendInteger(epoch)
        bytes.appendField(secret[...])
        bytes.appendText(address)
        bytes.appendText(path)
        return bytes
    }

    /// Reads a ticket from all the bytes that the worker's descriptor delivered.
    ///
    /// - Throws: ``WireError`` when the version is not ``currentVersion``, a field is invalid, or bytes are missing or left over.
    public init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes, to: bytes.count)
        let version = try reader.integer(UInt8.self)
        guard version == Self.currentVersion else {
            throw WireError(.badVersion, "the ticket's version is \(version), not \(Self.currentVersion)", offset: 0)
        }
        let incarnation = try reader.integer(UInt32.self)
        let parentProcessID = try reader.integer(Int32.self)
        let isStrict = try reader.flag("isStrict")
        let orphanGrace = try reader.integer(UInt32.self)
        let epoch = try reader.integer(UInt32.self)
        let secretOffset = reader.position
        let secret = try reader.field()
        guard secret.count == Self.secretLength else {
            throw WireError(.malformed, "the secret has \(secret.count) bytes, not \(Self.secretLength)", offset: secretOffset)
        }
        let address = try reader.text(limit: FrameLimits.default.maximumNameLength)
        let path = try reader.text(limit: FrameLimits.default.maximumNameLength)
        guard reader.remaining == 0 else {
            throw WireError(.trailingBytes, "\(reader.remaining) bytes follow the ticket", offset: reader.position)
        }
        self.init(
            version: version,
            address: address,
            secret: Array(secret),
            path: path,
            incarnation: incarnation,
            parentProcessID: parentProcessID,
            isStrict: isStrict,
            orphanGraceMilliseconds: orphanGrace,
            epoch: epoch
        )
    }
}
