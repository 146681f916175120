import Glibc

/// The way in which this program was run, by which the next one is run in its place.
struct ProgramImage: Sendable {
    /// The path of the executable, where a newer one may be by now.
    let executable: String
    let arguments: [[UInt8]]
    let environment: [[UInt8]]

    /// Reads how this program was run; called before anything changes the environment.
    static func current() -> ProgramImage {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = max(readlink("/proc/self/exe", &buffer, buffer.count), 0)
        let executable = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let prefix = Array("\(DaemonHandover.variable)=".utf8)
        return ProgramImage(
            executable: executable,
            arguments: texts(CommandLine.unsafeArgv),
            environment: texts(environ).filter { !$0.starts(with: prefix) }
        )
    }

    // Unsafe: the C library's arrays, ended by NULL.
    private static func texts(_ array: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> [[UInt8]] {
        var (texts, next): ([[UInt8]], Int) = ([], 0)
        while let text = array[next] {
            texts.append(UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) })
            next += 1
        }
        return texts
    }
}
