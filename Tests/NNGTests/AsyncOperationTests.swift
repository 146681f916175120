import CNNG
import ConcurrencySupport
import TestSupport
import Testing

@testable import NNG

/// The gaps of nng 1.5.2 that `AsyncOperation` closes, each met on purpose.
@Suite("Asynchronous operations", .timeLimit(minutes: 1))
struct AsyncOperationTests {
    /// A read that would wait for ever, and what became of it.
    private final class Read: Sendable {
        let buffer = TransferBuffer(capacity: 16)
        let outcomes = Lock<[NNGError.Code?]>([])
        let operation: AsyncOperation

        init() throws {
            operation = try AsyncOperation(for: "receive", address: "")
        }

        func submit(on handle: Handle, request: CancellationRequest? = nil, before: () -> Void = {}) -> AsyncOperation.Submission {
            operation.submit(on: handle, request: request) { outcome in
                self.outcomes.withLock { $0.append(outcome.code) }
            } start: { stream, aio in
                before()
                var vector = nng_iov(iov_buf: self.buffer.bytes.baseAddress, iov_len: 16)
                nng_aio_set_iov(aio, 1, &vector)
                nng_stream_recv(stream, aio)
            }
        }

        func ended(_ codes: NNGError.Code?...) async -> Bool {
            await eventually { outcomes.withLock { $0 == codes } }
        }
    }

    @Test func aStreamThatIsClosedJustBeforeItIsRead() async throws {
        let pair = try await StreamPair()
        let handle = pair.dialled.handle
        let read = try Read()
        // By itself, nng would keep this read for ever.
        #expect(read.submit(on: handle) { handle.close() } == .accepted)
        #expect(await read.ended(.closed))
        #expect(read.submit(on: handle) == .closed)
        pair.close()
        #expect(await eventually { pair.directory.socketCount == 0 })
    }

    @Test func aCancellationThatComesBeforeTheOperationBegins() async throws {
        let pair = try await StreamPair()
        let read = try Read()
        let request = CancellationRequest()
        request.make(.timedOut)
        request.make(.canceled)
        #expect(read.submit(on: pair.dialled.handle, request: request) == .accepted)
        #expect(await read.ended(.timedOut))
        // The same in the middle of the submission, when nng has nothing to cancel yet.
        let late = CancellationRequest()
        let submission = read.submit(on: pair.dialled.handle, request: late) {
            late.make(.canceled)
            read.operation.cancel(.canceled)
        }
        #expect(submission == .accepted)
        #expect(await read.ended(.timedOut, .canceled))
        pair.close()
    }

    @Test func aBusyOperationIsRefused() async throws {
        let pair = try await StreamPair()
        let read = try Read()
        #expect(read.submit(on: pair.dialled.handle) == .accepted)
        #expect(read.submit(on: pair.dialled.handle) == .busy)
        read.operation.cancel(.canceled)
        #expect(await read.ended(.canceled))
        // Nothing is in flight: nothing to cancel, and the next one isn't touched.
        read.operation.cancel(.canceled)
        #expect(read.submit(on: pair.dialled.handle) == .accepted)
        try await pair.accepted.send([1])
        #expect(await read.ended(.canceled, nil))
        pair.close()
        #expect(await eventually { pair.directory.socketCount == 0 })
    }

    @Test func cancellationsFromManySides() async throws {
        let pair = try await StreamPair()
        let read = try Read()
        for round in 1...300 {
            #expect(read.submit(on: pair.dialled.handle) == .accepted)
            await withTaskGroup { group in
                for _ in 0..<3 { group.addTask { read.operation.cancel(.canceled) } }
            }
            #expect(await eventually { read.outcomes.withLock { $0.count } == round })
        }
        #expect(read.outcomes.withLock { $0.allSatisfy { $0 == .canceled } })
        pair.close()
    }
}
