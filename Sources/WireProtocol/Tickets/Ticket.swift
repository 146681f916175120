/// What a parent gives a worker at spawn: where to call, how to prove who it is, and what it is for.
///
/// It arrives on an inherited descriptor, never in the environment or the arguments, which other processes of the user can read. It lives as long
/// as the incarnation: a worker that lost its link dials again with the same ticket.
public struct Ticket: Sendable, Hashable {
    /// The version of the ticket's layout that this module reads and writes.
    public static let currentVersion: UInt8 = 1
    /// The incarnation of a worker that waits for its life: the start frame tells which it is.
    public static let spareIncarnation: UInt32 = 0
    /// The length of a secret, in bytes.
    public static let secretLength = 32

    /// The version of the ticket's layout.
    public var version: UInt8
    /// Where the parent listens, as an nng address: `ipc:///run/…`.
    public var address: String
    /// 32 random bytes that the worker shows in its ``Hello``.
    public var secret: [UInt8]
    /// Where the worker's coordinator stands in the tree.
    public var path: String
    /// Which life of that place this worker is, or ``spareIncarnation``.
    public var incarnation: UInt32
    /// The parent's process identifier: a strict worker whose parent is another one by now has been orphaned already.
    public var parentProcessID: Int32
    /// The worker dies with its parent.
    public var isStrict: Bool
    /// How long a worker that isn't strict waits to be adopted, in milliseconds.
    public var orphanGraceMilliseconds: UInt32
    /// The life of the link that the first dial begins.
    public var epoch: UInt32

    /// Creates a ticket.
    ///
    /// The secret has to have 32 bytes, or nobody will read the ticket.
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
    /// What the ticket is for, without its secret.
    public var description: String {
        "Ticket(path: \(path), incarnation: \(incarnation), address: \(address), parent: \(parentProcessID))"
    }
}
