import Coordinators
import TestSupport
import Testing

@testable import Thumbnails

@Suite("Thumbnails", .timeLimit(minutes: 2))
struct ThumbnailTests {
    @Test("Each picture has an answer of its own, and the next one is made")
    func answers() async throws {
        try await RunningThumbnails.with { thumbnails in
            let cases: [(picture: [UInt8], status: Int)] = [
                (Array("GIF89a".utf8), 422), (Array("5000 1 1 0\n".utf8), 422), (Sample.short, 422), (Sample.short, 422),
            ]
            for (number, (picture, status)) in cases.enumerated() {
                let error = await #expect(throws: (any Error).self) {
                    _ = try await thumbnails.make(picture, within: .patient(.seconds(30)))
                }
                #expect(error.map { Thumbnail.status(of: $0).code } == status, "\(String(describing: error))")
                let thumbnail = try await thumbnails.make(Sample.good(number), within: .patient(.seconds(30)))
                #expect(thumbnail.starts(with: Array("8 8 1 0\n".utf8)) && thumbnail.count == 8 + 64)
            }
            // What was made before needs no renderer.
            for key in 1...3 { try await thumbnails.runtime.pause(try #require(CoordinatorPath("/renderers/\(key)"))) }
            _ = try await thumbnails.make(Sample.good(0))
        }
    }

    @Test("An album goes on behind pictures that end their renderers")
    func album() async throws {
        try await RunningThumbnails.with { thumbnails in
            let pictures = [Sample.good(1), Sample.short, Sample.good(2), Array("GIF89a".utf8)]
            let album = try await thumbnails.runtime.ask(Album.Submit(pictures: pictures, width: 4))
            try await eventually("it's through") {
                try await thumbnails.runtime.ask(Album.Progress(album: album)) == Album.Count(made: 2, failed: 2, left: 0)
            }
        }
    }

    @Test(
        "A renderer that leaks is replaced between two pictures, and one that takes too much at once is killed, which isn't counted",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory is many times the limits"),
        arguments: [(megabytes: 256, isKilled: false), (megabytes: 600, isKilled: true)]
    )
    func leaks(megabytes: Int, isKilled: Bool) async throws {
        try await RunningThumbnails.with { thumbnails in
            // One that is to be killed doesn't end before, so that it's above the limit at the next measurement at the latest.
            let picture = Sample.leaking(megabytes: megabytes, step: isKilled ? 0 : 1)
            _ = try? await thumbnails.make(picture, within: .patient(.seconds(30)))
            try await eventually("the renderer is replaced") {
                let members = try await thumbnails.renderers()
                return members.map(\.incarnation).sorted() == [1, 1, 2] && members.allSatisfy { $0.state == .active }
            }
            let member = try #require(try await thumbnails.renderers().first { $0.incarnation == 2 })
            if case .memoryExceeded(let bytes, 512 << 20) = member.lastExit {
                #expect(isKilled && bytes > 512 << 20)
            } else {
                #expect(!isKilled && member.restarts == 0, "\(String(describing: member.lastExit))")
            }
            _ = try await thumbnails.make(Sample.good(1), within: .patient(.seconds(30)))
        }
    }

    @Test("The program plays its pictures, and ends by itself")
    func program() async throws {
        let ended = try await RunningThumbnails.program.run(environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(ended.exitCode == 0)
        #expect(ended.output == "good: 72 bytes\nno picture: 422\ntoo short: 422\ngood again: 72 bytes\n")
    }
}
