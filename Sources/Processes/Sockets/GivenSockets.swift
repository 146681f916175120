/// The sockets that a program gets from its parent by systemd's protocol, in order.
///
/// Follows https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html: they are the child's descriptors from 3 on, and the variables
/// `LISTEN_FDS`, `LISTEN_FDNAMES` and `LISTEN_PID` name them.
public struct GivenSockets: Sendable, Hashable {
    /// The number of the first socket in the child.
    public static let firstTarget: Int32 = 3

    /// The variable whose value is the child's process ID; the value is filled in between fork and exec.
    static let processVariable = "LISTEN_PID"

    private let names: [String]
    // The references keep the sockets open, also while no program runs that has them.
    private let sockets: [ListeningSocket]

    /// Takes the sockets of these addresses, which are opened when a program gets them.
    public init(_ specifications: [SocketSpecification] = []) {
        names = specifications.map(\.name)
        sockets = specifications.map { ListeningSocket.at($0.address) }
    }

    /// Whether there are none.
    public var isEmpty: Bool { sockets.isEmpty }

    /// The sockets as a process holds them that was given them.
    package var holdings: [ListeningSocket.Holding] {
        sockets.enumerated().map { ListeningSocket.Holding(address: $1.address, number: Self.firstTarget + Int32($0)) }
    }

    /// The names and the addresses, for comparisons.
    package var texts: [String] { zip(names, sockets).flatMap { [$0, "\($1.address)"] } }

    /// Opens the sockets that aren't open yet, and gives all to a child.
    ///
    /// - Throws: An error when an address can't be had.
    package func add(to specification: inout ProcessSpecification) throws(ProcessError) {
        guard !isEmpty else { return }
        for (index, socket) in sockets.enumerated() {
            let target = Self.firstTarget + Int32(index)
            specification.descriptors.append(InheritedDescriptor(source: try socket.open(), target: target))
        }
        var variables = specification.environment ?? [:]
        variables["LISTEN_FDS"] = String(sockets.count)
        variables["LISTEN_FDNAMES"] = names.joined(separator: ":")
        // As long as the longest number of a process.
        variables[Self.processVariable] = String(repeating: "0", count: 10)
        specification.environment = variables
    }
}
