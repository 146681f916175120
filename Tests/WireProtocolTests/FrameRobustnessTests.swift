import TestSupport
import Testing
import WireProtocol

@Suite("Frames: bad bytes")
struct FrameRobustnessTests {
    private func error(_ batch: [UInt8], limits: FrameLimits = .default) -> WireError? {
        do throws(WireError) {
            _ = try decodeAll(batch, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    /// Returns a sample's bytes with some of them replaced.
    private func patched(_ name: String, _ offset: Int, _ bytes: UInt8...) throws -> [UInt8] {
        var batch = encodeAll([try #require(Samples.frames[name])])
        batch.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        return batch
    }

    @Test("Every prefix of every vector is an error", arguments: Samples.frames.keys.sorted())
    func truncation(name: String) throws {
        let batch = encodeAll([try #require(Samples.frames[name])])
        for count in 1..<batch.count {
            #expect(error(Array(batch.prefix(count)))?.code == .truncated)
            // The same, with a length that fits: the fault lies in the body. Payloads have no length of their own, so that may be right, too.
            if count >= Frame.headerSize {
                var shorter = Array(batch.prefix(count))
                shorter.replaceSubrange(0..<4, with: [UInt8(count & 0xFF), UInt8(count >> 8), 0, 0])
                if let frame = try? decodeAll(shorter).first {
                    #expect(encodeAll([frame]) == shorter)
                }
            }
        }
    }

    @Test("A vector with one bit flipped is an error, or a frame with just these bytes", arguments: Samples.frames.keys.sorted())
    func bitFlips(name: String) throws {
        let batch = encodeAll([try #require(Samples.frames[name])])
        for bit in 0..<batch.count * 8 {
            var flipped = batch
            flipped[bit / 8] ^= 1 << (bit % 8)
            if let frames = try? decodeAll(flipped) {
                #expect(encodeAll(frames) == flipped)
            }
        }
    }

    @Test("Random byte strings are errors or frames; half of them have a header that makes sense")
    func randomBytes() throws {
        var random = SeededGenerator()
        let count = rounds(short: 20_000, all: 100_000, long: 1_000_000)
        var frames = 0
        for round in 0..<count {
            var batch = random.bytes(upTo: 120)
            if round % 2 == 0, batch.count >= Frame.headerSize {
                batch.replaceSubrange(0..<6, with: [UInt8(batch.count), 0, 0, 0, 1, UInt8.random(in: 1...29, using: &random)])
            }
            frames += (try? decodeAll(batch).count) ?? 0
        }
        #expect(frames > count / 100)
    }

    @Test("A length beyond the limit, beyond the batch, or below the header is an error")
    func lengths() throws {
        #expect(error(try patched("ask", 0, 0xFF, 0xFF, 0xFF, 0xFF))?.code == .tooLarge)
        #expect(error(try patched("ask", 0, 0xFF, 0xFF, 0x0F, 0x00))?.code == .truncated)
        #expect(error(try patched("ask", 0, 39, 0, 0, 0))?.code == .malformed)
        #expect(error(try patched("ask", 0, 0, 0, 0, 0))?.code == .malformed)
        let batch = encodeAll([Frame(.streamItem([UInt8](repeating: 0, count: 1000)[...]))])
        #expect(error(batch, limits: FrameLimits(maximumFrameSize: 1040)) == nil)
        #expect(error(batch, limits: FrameLimits(maximumFrameSize: 1039))?.code == .tooLarge)
    }

    @Test("A field's length that is huge, endless or overflows is an error")
    func fieldLengths() throws {
        // The trace of an ask begins at byte 60; its length is one byte, and 13 follow.
        #expect(error(try patched("ask", 60, 0x0E))?.code == .truncated)
        #expect(error(try patched("ask", 60, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F))?.code == .truncated)
        #expect(error(try patched("ask", 60, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F))?.code == .truncated)
        #expect(error(try patched("ask", 60, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01))?.code == .malformed)
        #expect(error(try patched("ask", 60, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80))?.code == .malformed)
        #expect(error(try patched("ask", 60, 0x82, 0x00))?.code == .malformed)
    }

    @Test("Another version, an unknown kind, wrong flags, bad text and left-over bytes each have their code")
    func codes() throws {
        #expect(error(try patched("ready", 4, 2))?.code == .badVersion)
        #expect(error(try patched("ready", 4, 0))?.code == .badVersion)
        #expect(error(try patched("ready", 5, 0))?.code == .unknownKind)
        #expect(error(try patched("ready", 5, 12))?.code == .unknownKind)
        #expect(error(try patched("ready", 5, 13))?.code == .unknownKind)
        #expect(error(try patched("ready", 5, 30))?.code == .unknownKind)
        #expect(error(try patched("ready", 5, 255))?.code == .unknownKind)
        #expect(error(try patched("subscribe", 48, 2))?.code == .malformed)
        #expect(error(try patched("reply-success", 40, 2))?.code == .malformed)
        #expect(error(try patched("define-name", 40, 0))?.code == .malformed)
        #expect(error(try patched("hello", 40, 9))?.code == .malformed)
        // A part of no place, an abandonment with bytes, and a part without any.
        for place: UInt8 in [0, 4, 5, 255] { #expect(error(try patched("part", 40, place))?.code == .malformed) }
        for place: UInt8 in 1...3 { #expect(error(try patched("part-abandoned", 40, place))?.code == .malformed) }
        #expect(error(try patched("goodbye", 41, 0xFF)) == WireError(.badText, "a text of 7 bytes is not UTF-8", offset: 41))
        #expect(error(try patched("goodbye", 40, 6))?.code == .trailingBytes)
    }

    @Test("Names, types, paths and secrets have limits; texts for people don't")
    func nameLimits() {
        let long = String(repeating: "x", count: 1025)
        #expect(error(encodeAll([Frame(.defineName(DefineName(id: 1, text: long)))]))?.code == .tooLarge)
        #expect(error(encodeAll([Frame(.defineName(DefineName(id: 1, text: String(long.dropFirst()))))])) == nil)
        #expect(error(encodeAll([Frame(.inspect(Inspect(target: 1, operation: long)))]))?.code == .tooLarge)
        #expect(error(encodeAll([Frame(.start(Start(path: long, type: "", startTimeoutMilliseconds: 0)))]))?.code == .tooLarge)
        let hello = Hello(
            secret: Array(repeating: 1, count: 257),
            processID: 1,
            processStartTime: 1,
            buildID: "",
            maximumFrameSize: 1
        )
        #expect(error(encodeAll([Frame(.hello(hello))]))?.code == .tooLarge)
        #expect(error(encodeAll([Frame(.goodbye(long))])) == nil)
        #expect(error(encodeAll([Frame(.reply(.failure(Failure(code: "", type: long, message: long))))])) == nil)
    }

    @Test("Frames before a fault are delivered, and the fault is reported again and again, with its place")
    func faultStays() throws {
        let bad = try patched("ready", 5, 99)
        let good = encodeAll([Frame(.cancel)])
        var decoder = FrameDecoder(good + bad + good)
        #expect(try decoder.next()?.content == .cancel)
        for _ in 0..<2 {
            #expect(throws: WireError(.unknownKind, "version 1 has no kind 99", offset: 45)) { try decoder.next() }
        }
    }

    @Test("Values that later versions may add to codecs, flags, exits and probes are kept")
    func unknownValues() throws {
        let frame = Frame(
            .exited(Exited(reason: Exit(kind: Exit.Kind(rawValue: 99), code: -1, message: ""))),
            codec: PayloadCodec(rawValue: 77),
            flags: Flags(rawValue: 0xF0)
        )
        #expect(try decodeAll(encodeAll([frame])) == [frame])
    }
}
