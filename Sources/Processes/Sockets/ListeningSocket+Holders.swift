import CProcess
import ConcurrencySupport
import Glibc

/// The listening sockets of processes that were given them by one that was killed: the next one takes a copy, and all go on.
extension ListeningSocket {
    /// A socket that a process was given.
    package struct Holding: Codable, Sendable, Hashable {
        let address: SocketSpecification.Address
        /// The number of the descriptor at the process's beginning.
        let number: Int32
    }

    /// Takes copies of the sockets that a process holds, by pidfd_getfd(2), unless they are open here.
    ///
    /// - Returns: The sockets, which stay open with the last reference, and those of which no copy can be had: the process has closed the
    ///   socket, or this process may not look into that one.
    package static func takeFromHolder(
        _ holdings: [Holding],
        from process: ProcessIdentity
    ) -> (sockets: [ListeningSocket], failures: [(address: SocketSpecification.Address, error: String)]) {
        guard case .opened(let holder) = process.open(.live) else { return ([], []) }
        defer { Glibc.close(holder) }
        var (sockets, failures): ([ListeningSocket], [(address: SocketSpecification.Address, error: String)]) = ([], [])
        for holding in holdings {
            let socket = at(holding.address)
            if socket.isOpen || descriptor(givenFor: holding.address).map({ Glibc.close($0) }) != nil { continue }
            switch find(holding, of: process, holder) {
            case .success(let descriptor):
                if !socket.replaceDescriptor(descriptor) { Glibc.close(descriptor) }
                sockets.append(socket)
            case .failure(let error): failures.append((holding.address, error.text))
            }
        }
        return (sockets, failures)
    }

    private struct Failure: Error {
        let text: String
    }

    private static func find(_ holding: Holding, of process: ProcessIdentity, _ holder: Int32) -> Result<Int32, Failure> {
        var refusal: Int32 = 0
        // The process may have given the socket another number.
        for number in [holding.number] + sockets(of: process.processID) {
            let descriptor = coordinator_process_foreign_descriptor(holder, number)
            if descriptor == -EPERM || descriptor == -ENOSYS { refusal = -descriptor }
            if descriptor < 0 { continue }
            if isListening(descriptor), address(of: descriptor)?.isSamePlace(as: holding.address) == true { return .success(descriptor) }
            Glibc.close(descriptor)
        }
        return .failure(Failure(text: refusal == 0 ? "the process has closed it" : String(cString: strerror(refusal))))
    }

    /// The numbers of the sockets that a process has.
    private static func sockets(of process: Int32) -> [Int32] {
        guard let directory = opendir("/proc/\(process)/fd") else { return [] }
        defer { closedir(directory) }
        var numbers: [Int32] = []
        while let entry = readdir(directory) {
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard let number = Int32(name) else { continue }
            var buffer = [CChar](repeating: 0, count: 8)
            let length = max(readlink("/proc/\(process)/fd/\(name)", &buffer, buffer.count), 0)
            if buffer[..<length].elementsEqual("socket:[".utf8.map { CChar($0) }) { numbers.append(number) }
        }
        return numbers
    }
}
