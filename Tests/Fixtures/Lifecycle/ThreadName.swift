import Glibc

/// The name of the caller's thread: nng names its own.
public enum ThreadName {
    public static var current: String {
        guard let file = fopen("/proc/thread-self/comm", "re") else { return "unknown" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count].filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
