import Glibc
import TestSupport
import Testing

@testable import Processes

@Suite("Fresh directories")
struct TemporaryPlaceTests {
    private static let dead = ProcessIdentity(processID: getpid(), startTime: ProcessIdentity.current.startTime - 1)

    /// What may stand in the directory for temporary files, and whether the next process removes it.
    enum Remains: CaseIterable {
        case ofTheDead, ofTheLiving, lockedBySomeoneUnseen, linkToADirectory, withADirectory, withAFile, withALink, named, ofAnotherUser

        var isRemoved: Bool { self == .ofTheDead }
    }

    @Test("Only a directory of this user's is removed, whose owner is dead, and no link is followed", arguments: Remains.allCases)
    func remains(_ remains: Remains) throws {
        let parent = try TemporaryDirectory()
        let other = try TemporaryDirectory()
        try Files.write("x", to: other.file("precious"))
        let place = parent.file(Self.name(of: remains == .ofTheLiving ? .current : Self.dead, remains))
        if remains == .linkToADirectory {
            try #require(symlink(other.path, place) == 0)
        } else {
            try #require(mkdir(place, 0o700) == 0)
            try #require(mkfifo("\(place)/1.notify", 0o600) == 0)
        }
        switch remains {
        case .withADirectory: try #require(mkdir("\(place)/inner", 0o700) == 0)
        case .withAFile: try Files.write("x", to: "\(place)/inner")
        case .withALink: try #require(symlink(other.path, "\(place)/inner") == 0)
        default: break
        }
        if remains == .ofAnotherUser {
            guard chown(place, 65_534, 65_534) == 0 else { return }
        }
        let lock = remains == .lockedBySomeoneUnseen ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1
        if lock >= 0 { flock(lock, LOCK_EX) }
        defer { if lock >= 0 { close(lock) } }

        let fresh = try #require(TemporaryPlace(in: parent.path, named: "coordinator"))
        #expect(parent.entries.count == (remains.isRemoved ? 1 : 2))
        #expect(other.entries == ["precious"])
        // A second one of the same process leaves the first.
        let second = try #require(TemporaryPlace(in: parent.path, named: "coordinator"))
        #expect(access(fresh.path, F_OK) == 0)
        second.remove()
        fresh.remove()
        #expect(parent.entries.count == (remains.isRemoved ? 0 : 1))
    }

    private static func name(of owner: ProcessIdentity, _ remains: Remains) -> String {
        if remains == .named { return "coordinator-of.mine-abcdef" }
        return "coordinator-\(owner.processID).\(owner.startTime)-abcdef"
    }
}
