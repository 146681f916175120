public import Glibc
import Testing

/// Access to the files of the disk and of `/proc`.
public enum Files {
    /// The directory of this package's sources.
    public static let packageRoot = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    /// The names in a directory, sorted; none if it can't be read.
    public static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The names in a directory of `/proc` that are numbers.
    public static func numbers(in directory: String) -> [Int] { names(in: directory).compactMap(Int.init).sorted() }

    /// Returns the content of a file; nil if it can't be read.
    public static func text(of path: String) -> String? { bytes(of: path).map { String(decoding: $0, as: UTF8.self) } }

    /// Returns the content of a file as it is; nil if it can't be read.
    public static func bytes(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return bytes
    }

    /// The number of bytes of a file; nil when there is no file.
    public static func size(of path: String) -> Int? {
        var status = stat()
        return lstat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Writes a file, or writes it anew.
    public static func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        try #require(descriptor >= 0, "\(path) can't be written")
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count, "\(path) can't be written")
    }

    /// The permission bits of a file or a directory.
    public static func mode(of path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Removes a file, or a directory with everything in it.
    public static func remove(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            unlink(path)
            return
        }
        for name in names(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }
}

extension Files {
    /// The number of a file in its file system; nil when there is no file.
    public static func inode(of path: String) -> UInt64? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
