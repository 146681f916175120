import Glibc
import Processes

extension ZoneRules {
    /// The directories of the system's database.
    private static let directories = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"]
    /// The file of the machine's own zone.
    private static let localFile = "/etc/localtime"
    /// The size of the largest file that is read.
    private static let largestFile = 1 << 20

    /// Reads a zone of the system's database; blocks.
    ///
    /// - Parameter name: The zone's name; nil: the machine's own zone, which is UTC where none is set.
    package static func load(_ name: String?) throws(Problem) -> ZoneRules {
        if name == "UTC" { return .utc }
        guard let name else {
            if access(localFile, F_OK) != 0 { return .utc }
            return try read(localFile)
        }
        guard isName(name) else { throw Problem("`\(name)` is no name of a time zone; expected one such as Europe/Berlin") }
        for directory in directories where isRegular("\(directory)/\(name)") { return try read("\(directory)/\(name)") }
        let hint =
            access(directories[0], F_OK) == 0 ? "expected one such as Europe/Berlin" : "install the package `tzdata`, which has the zones"
        throw Problem("this machine knows no time zone `\(name)`; \(hint)")
    }

    /// Whether a name is one of the database's, and leads nowhere else.
    private static func isName(_ name: String) -> Bool {
        let isPlain = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & ~0x20) || "+-_/".utf8.contains(byte)
        }
        return isPlain && (1...255).contains(name.utf8.count) && !name.hasPrefix("/")
    }

    private static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func read(_ path: String) throws(Problem) -> ZoneRules {
        let bytes: [UInt8]
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.read(path, upTo: largestFile)
        } catch {
            throw Problem("the file \(path) of a time zone can't be read: \(error.explanation)")
        }
        do throws(Problem) {
            return try ZoneRules(file: bytes)
        } catch {
            throw Problem("the file \(path) of a time zone can't be used: \(error)")
        }
    }
}
