import TestSupport
import Testing
import WireProtocol

@Suite("Frames")
struct FrameTests {
    @Test("A frame encodes to its vector in the written format, and the vector decodes to it", arguments: Samples.frames.keys.sorted())
    func vector(name: String) throws {
        let vector = try #require(try HexVectors.load()[name])
        let frame = try #require(Samples.frames[name])
        #expect(encodeAll([frame]) == vector)
        #expect(try decodeAll(vector) == [frame])
    }

    @Test("The written format has a vector for every kind, and each one is checked")
    func vectorsAreComplete() throws {
        let vectors = try HexVectors.load()
        let kinds = Set(vectors.filter { Samples.frames[$0.key] != nil }.map { $0.value[5] })
        #expect(kinds == Set(1...29).subtracting([12, 13]))
        let checked = Set(Samples.frames.keys).union(["ticket"]).union(CompactVectorTests.names)
        #expect(Set(vectors.keys) == checked)
    }

    @Test("10,000 random frames of all kinds come back, in batches of random size")
    func randomRoundTrip() throws {
        var random = SeededGenerator()
        var kinds: Set<UInt8> = []
        var count = 0
        while count < 10_000 {
            let frames = (0...Int.random(in: 0..<20, using: &random)).map { _ in random.frame() }
            let batch = encodeAll(frames)
            #expect(try decodeAll(batch) == frames)
            kinds.insert(batch[5])
            count += frames.count
        }
        #expect(kinds.count == SeededGenerator.kinds)
    }

    @Test("A decoded payload shares the memory of its batch")
    func payloadIsASlice() throws {
        let batch = encodeAll([Frame(.ready), Frame(.streamItem([1, 2, 3]))])
        guard case .streamItem(let payload) = try decodeAll(batch)[1].content else {
            Issue.record("not a stream item")
            return
        }
        #expect(payload.indices == 80..<83)
        let isShared = batch.withUnsafeBytes { batch in
            payload.withUnsafeBytes { $0.baseAddress == batch.baseAddress.map { $0 + 80 } }
        }
        #expect(isShared)
    }

    @Test("A payload that isn't most of its batch gets memory of its own, if that is wanted")
    func payloadApart() throws {
        let (small, large) = (Bytes(repeating: 1, count: 100), Bytes(repeating: 2, count: 8_000))
        let send = Send(target: 0, sender: 1, message: 2, payload: small)
        let batch = encodeAll([Frame(.event(Event(subject: 0, name: 1, payload: small))), Frame(.send(send)), Frame(.streamItem(large))])
        var decoder = FrameDecoder(batch, copiesSmallPayloads: true)
        let contents = [try decoder.next()?.content, try decoder.next()?.content, try decoder.next()?.content]
        guard case .event(let first) = contents[0], case .send(let second) = contents[1], case .streamItem(let third) = contents[2] else {
            Issue.record("other frames")
            return
        }
        #expect(first.payload == small && second == send && third == large)
        #expect(first.payload.indices == 0..<100)
        // The receiver copies the payloads of one-way messages, which it may gather.
        #expect(second.payload.startIndex > 100)
        #expect(FrameDecoder.ownMemory(for: second.payload, of: batch.count).indices == 0..<100)
        #expect(third.indices == batch.count - 8_000..<batch.count)
        #expect(FrameDecoder.ownMemory(for: third, of: batch.count).indices == third.indices)
    }

    @Test("An empty batch has no frames")
    func emptyBatch() throws {
        #expect(try decodeAll([]).isEmpty)
    }

    @Test("Appending keeps the content of the batch")
    func appending() throws {
        var batch: [UInt8] = encodeAll([Frame(.cancel, correlation: 1)])
        let before = batch
        FrameEncoder.append(Frame(.goodbye("x")), to: &batch)
        #expect(Array(batch.prefix(before.count)) == before)
        #expect(try decodeAll(batch).map(\.content) == [.cancel, .goodbye("x")])
    }
}
