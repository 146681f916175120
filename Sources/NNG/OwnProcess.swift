import Glibc

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
