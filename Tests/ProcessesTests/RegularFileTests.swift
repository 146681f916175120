import Glibc
import TestSupport
import Testing

@testable import Processes

@Suite("Files that are read whole")
struct RegularFileTests {
    /// What there may be at a path, and what comes of it.
    enum Kind: String, CaseIterable {
        case file, link, none, directory, pipe, device, large

        func make(in directory: TemporaryDirectory) throws -> String {
            let path = directory.file(rawValue)
            switch self {
            case .file: try Files.write("A=1", to: path)
            case .link:
                try Files.write("A=1", to: directory.file("target"))
                try #require(symlink("target", path) == 0)
            case .none: break
            case .directory: try #require(mkdir(path, 0o700) == 0)
            case .pipe: try #require(mkfifo(path, 0o600) == 0)
            case .device: return "/dev/zero"
            case .large: try Files.write("A=12", to: path)
            }
            return path
        }

        var outcome: String {
            switch self {
            case .file, .link: "A=1"
            case .none: "No such file or directory"
            case .directory: "Is a directory"
            case .pipe, .device: "it isn't a regular file"
            case .large: "it's too large"
            }
        }
    }

    private static func outcome(_ path: String, for account: Account? = nil) -> String {
        do throws(RegularFile.Failure) {
            return String(decoding: try RegularFile.read(path, upTo: 3, for: account), as: UTF8.self)
        } catch {
            return error.explanation
        }
    }

    @Test("Only regular files are read, links are followed", arguments: Kind.allCases)
    func kinds(_ kind: Kind) async throws {
        let directory = try TemporaryDirectory()
        let path = try kind.make(in: directory)
        #expect(try await blocking { Self.outcome(path) } == kind.outcome)
    }

    @Test(
        "What another user could have put there is read as that user",
        .enabled(if: geteuid() == 0, "only root can read as another user"),
        arguments: [(nil, "A=1"), ("own", "A=1"), ("link", "Permission denied"), ("linkToLink", "Permission denied")]
    )
    func readers(_ name: String?, _ outcome: String) async throws {
        let (roots, theirs) = (try TemporaryDirectory(), try TemporaryDirectory())
        let nobody = try Account(of: ProcessAttributes(user: "nobody"))
        try Files.write("A=1", to: roots.file("secret"))
        chmod(roots.path, 0o755)
        try #require(symlink(roots.file("secret"), theirs.file("link")) == 0)
        try #require(symlink("link", theirs.file("linkToLink")) == 0)
        try Files.write("A=1", to: theirs.file("own"))
        for path in [theirs.path, theirs.file("own")] { try #require(chown(path, nobody.user, nobody.group) == 0) }
        let path = name.map { theirs.file($0) } ?? roots.file("secret")
        #expect(try await blocking { Self.outcome(path, for: nobody) } == outcome)
        withExtendedLifetime((roots, theirs)) {}
    }
}
