internal import CNNG
internal import CProcess
import Glibc

/// The nng library as a whole.
public enum Library {
    /// Makes nng's threads now rather than at the first use, which takes a millisecond or two; as many as on a machine with one processor, if they
    /// aren't there yet.
    ///
    /// nng makes two for each processor, 16 at most, and up to eight timers: for a process with a link or two that is memory and the time to begin and to end.
    public static func prepareFew() {
        coordinator_process_answer_first_use(1)
        defer { coordinator_process_answer_first_use(0) }
        var operation: OpaquePointer?
        // A failure shows at the first use.
        if nng_aio_alloc(&operation, nil, nil) == 0 { nng_aio_free(operation) }
    }
}

/// What the kernel tells this process of itself, see proc(5).
enum OwnProcess {
    /// The open descriptors; some may be closed by now.
    static var descriptors: [Int32] {
        guard let directory = opendir("/proc/self/fd") else { return [] }
        defer { closedir(directory) }
        var numbers: [Int32] = []
        while let entry = readdir(directory) {
            // Unsafe: the name is a fixed array of the C structure, ended by a zero, and stays until the next call.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let number = Int32(name) { numbers.append(number) }
        }
        return numbers
    }
}
