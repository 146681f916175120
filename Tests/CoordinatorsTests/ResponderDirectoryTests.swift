import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("The directory of the rows above a process, as a value")
struct ResponderDirectoryTests {
    private static let here = BuildID.current

    private static func level(_ distance: UInt32, build: String = here, _ rows: [Directory.Row]) -> Directory {
        Directory(distance: distance, buildID: build, isLast: false, rows: rows)
    }

    @Test("The first row of a name decides, in the order in which messages meet the rows")
    func firstRow() {
        let directory = ResponderDirectory([
            Self.level(1, [Directory.Row("Answered"), Directory.Row("Seen", .intercepts)]),
            Self.level(3, [Directory.Row("Answered", .intercepts), Directory.Row("Seen"), Directory.Row("Late")]),
        ])
        #expect(directory.entry(for: "Answered")?.isIntercepted == false)
        #expect(directory.entry(for: "Seen")?.isIntercepted == true)
        #expect(directory.entry(for: "Late")?.isIntercepted == false)
        #expect(directory.entry(for: "Nobody") == nil)
        #expect(directory.entry(for: "Answer") == nil)
    }

    @Test("A prefix stands for every name that begins with it, before the rows behind it only")
    func prefixes() {
        let directory = ResponderDirectory([
            Self.level(1, [Directory.Row("Cart.Near")]),
            Self.level(2, [Directory.Row("Cart.", [.intercepts, .prefix]), Directory.Row("Cart.Far"), Directory.Row("Other")]),
        ])
        #expect(directory.entry(for: "Cart.Near")?.isIntercepted == false)
        #expect(directory.entry(for: "Cart.Far")?.isIntercepted == true)
        #expect(directory.entry(for: "Cart.Unknown")?.isIntercepted == true)
        #expect(directory.entry(for: "Other")?.isIntercepted == false)
        #expect(directory.entry(for: "Cart") == nil)
    }

    @Test("The compact codec is for messages that only rows of this build read, whatever builds are in between")
    func builds() {
        let directory = ResponderDirectory([
            Self.level(1, build: "other", [Directory.Row("Theirs"), Directory.Row("Mixed", .intercepts)]),
            Self.level(2, [Directory.Row("Ours"), Directory.Row("Mixed"), Directory.Row("Be.Hind")]),
            Self.level(
                3,
                build: "other",
                [Directory.Row("Ours"), Directory.Row("Be.", [.intercepts, .prefix]), Directory.Row("Late", .intercepts)]
            ),
        ])
        #expect(directory.entry(for: "Theirs")?.isOfThisBuild == false)
        #expect(directory.entry(for: "Mixed")?.isOfThisBuild == false)
        #expect(directory.entry(for: "Ours")?.isOfThisBuild == true)
        // The prefix of the other build stands above the answer.
        #expect(directory.entry(for: "Be.Hind")?.isOfThisBuild == true)
        #expect(directory.entry(for: "Be.Fore")?.isOfThisBuild == false)
        #expect(directory.entry(for: "Late")?.isOfThisBuild == false)
    }

    @Test("Many rows are split into frames that the other side takes, and arrive complete and in order", arguments: [4_096, 32 << 10])
    func frames(_ size: Int) throws {
        let rows = (0..<5_000).map { number in
            Directory.Row("Message\(number)" + String(repeating: "x", count: number % 1_000), number % 2 == 0 ? .intercepts : [])
        }
        let levels = [Self.level(1, Array(rows[..<1_000])), Self.level(2, Array(rows[1_000...]))]
        let frames = ResponderDirectory.frames(levels, ofSize: size)
        #expect(frames.count > 2)
        #expect(frames.filter(\.isLast) == [frames.last])
        for frame in frames {
            var batch: [UInt8] = []
            FrameEncoder.append(Frame(.directory(frame)), to: &batch)
            #expect(batch.count <= size)
        }
        for (distance, part) in [(1, rows[..<1_000]), (2, rows[1_000...])] {
            #expect(frames.filter { $0.distance == distance }.flatMap(\.rows) == Array(part))
        }
        var incoming = IncomingDirectory()
        let directories = frames.compactMap { incoming.add($0) }
        let directory = try #require(directories.first)
        #expect(directories.count == 1)
        for row in rows { #expect(directory.entry(for: row.name)?.isIntercepted == row.traits.contains(.intercepts)) }
    }

    @Test("Rows that can't be reached are left out")
    func unreachable() {
        let levels = ResponderDirectory.reachable([
            Self.level(1, [Directory.Row("A"), Directory.Row("A", .intercepts), Directory.Row("A"), Directory.Row("B", .intercepts)]),
            Self.level(2, [Directory.Row("A"), Directory.Row("A", .intercepts)]),
            Self.level(3, [Directory.Row("B"), Directory.Row("", [.intercepts, .prefix])]),
        ])
        #expect(levels.map(\.distance) == [1, 3])
        #expect(levels[0].rows == [Directory.Row("A"), Directory.Row("B", .intercepts)])
        #expect(levels[1].rows == [Directory.Row("B"), Directory.Row("", [.intercepts, .prefix])])
    }

    @Test("A tree without rows tells that there are none, and too many rows tell nothing")
    func extremes() throws {
        var incoming = IncomingDirectory()
        let frames = ResponderDirectory.frames([], ofSize: 4_096)
        let empty = try #require(frames.compactMap { incoming.add($0) }.first)
        #expect(empty.entry(for: "Anything") == nil)
        let rows = (0...ResponderDirectory.rowsLimit).map { Directory.Row("\($0)") }
        let many = ResponderDirectory.frames([Self.level(1, rows)], ofSize: 32 << 10).compactMap { incoming.add($0) }
        #expect(many.isEmpty)
        // The next directory is a new one.
        let next = ResponderDirectory.frames([Self.level(1, [Directory.Row("A")])], ofSize: 4_096).compactMap { incoming.add($0) }
        #expect(next.first?.entry(for: "A") != nil)
        #expect(next.first?.entry(for: "1") == nil)
    }
}
