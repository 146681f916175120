package import Control
import Coordinators
import Glibc
import Processes
import WireProtocol

/// What an executable says once it has read, in a process of its own, what a daemon would leave to it: enough to tell that it has understood it.
///
/// `coordinatord --dryRun`, with the arguments of the daemon, is between two versions of the daemon and for no person. It gets a copy of the
/// heritage as descriptor 3, writes this as JSON to descriptor 4, and ends with exit code 0. Both numbers and the members stay what they are.
package struct UpgradeDryRun: Codable, Equatable {
    /// The descriptors of the process that rehearses.
    static let handover: Int32 = 3
    static let report: Int32 = 4

    let version: String
    /// The numbers of the plain programs and the sockets that are left.
    let programs: Int
    let sockets: Int

    init(of handover: DaemonHandover, by version: String) {
        self.version = version
        (programs, sockets) = (handover.runtime.keptPrograms.count, handover.sockets?.count ?? 0)
    }

    /// Reads what an executable has said; `nil` when it's nothing of the kind.
    init?(report bytes: [UInt8]) {
        guard let json = try? ControlJSON.parse(answer: bytes), let report = try? ControlJSON.decode(Self.self, from: json) else {
            return nil
        }
        self = report
    }

    /// Says that this program could go on with a heritage.
    fileprivate func say() throws(ControlError) {
        let bytes = try ControlJSON.bytes(of: try ControlJSON.value(of: self))
        guard bytes.withUnsafeBytes({ write(Self.report, $0.baseAddress, $0.count) }) == bytes.count else {
            throw ControlError(.failed, "the daemon doesn't read what this rehearsal has to say: \(String(cString: strerror(errno)))")
        }
    }
}

extension Daemon {
    /// Reads what the start would read beyond the configuration, and tells the running daemon so; touches no file, no process and no socket.
    ///
    /// - Throws: The reason why this program can't take the daemon's place.
    package func dryRun(_ handover: DaemonHandover?) throws(ControlError) {
        guard let handover else { throw ControlError(.invalidRequest, "--rehearse is for the running daemon alone") }
        do throws(CoordinatorError) {
            try runtime.rehearseAdoption(of: handover.request.result.pid)
        } catch {
            throw ControlError(.failed, error.message)
        }
        try UpgradeDryRun(of: handover, by: Release.version).say()
    }
}
