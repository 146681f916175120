import CoordinatorsTesting
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Messages that no coordinator answers, in the root's own process.
@Suite("Unhandled messages")
struct UnhandledTests {
    private struct Nobody: ResponderMessage {}

    /// Makes the root ask what no coordinator answers; the reply is the kind of error.
    private struct AskNobody: ResponderMessage {
        typealias Reply = String
        var isCancelled = false
    }

    private actor Root: Coordinator {
        static let responders: Responders = [
            .respond(to: AskNobody.self) { me, request in
                let context = me.context
                return await Task {
                    if request.isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
                    do {
                        try await context.ask(Nobody())
                        return "answered"
                    } catch let error as CoordinatorError {
                        return "\(error.code)"
                    } catch {
                        return "\(type(of: error))"
                    }
                }
                .value
            }
        ]

        nonisolated let context: Context

        init(_ context: Context) { self.context = context }
    }

    @Test("The text of the error is the same whether it's read, compared or sent")
    func text() throws {
        let error = CoordinatorError(unhandled: UnhandledMessage(name: "Cart.Add", sender: "/shop"))
        let plain = CoordinatorError(.unhandled, "nobody from /shop up to / responds to Cart.Add")
        #expect(error.message == plain.message)
        #expect(error == plain)
        #expect(error.hashValue == plain.hashValue)
        #expect(error != CoordinatorError(.unhandled, error.message, maybeExecuted: true))
        for codec in [PayloadCodec.compact, .json] {
            let bytes = Bytes(try PayloadCoder.encode(error, as: codec))
            #expect(try PayloadCoder.decode(CoordinatorError.self, from: bytes, codec: codec) == plain)
        }
    }

    @Test("The error of a private type's message says why programs of other builds can't answer it")
    func privateType() async throws {
        try await withRuntime(Root.self) { runtime in
            let error = await #expect(throws: CoordinatorError.self) { try await runtime.ask(Nobody()) }
            #expect(error?.code == .unhandled)
            #expect(error?.message.contains("the type is private") == true)
        }
    }

    /// A root of this test's own: what is known about a type is known for good.
    private actor HooklessRoot: Coordinator {
        nonisolated let context: Context

        init(_ context: Context) { self.context = context }
    }

    @Test("A root without a hook for them is asked to observe them once")
    func withoutHook() async throws {
        try await withRuntime(HooklessRoot.self) { runtime in
            let type = CoordinatorType.of(HooklessRoot.self)
            #expect(!type.lacks(.unhandled))
            await #expect(throws: CoordinatorError.self) { try await runtime.ask(Nobody()) }
            try await eventually("the default has run") { type.lacks(.unhandled) }
            await expect(.unhandled) { try await runtime.ask(Nobody()) }
        }
    }

    @Test("A cancelled task learns of its cancellation first")
    func cancelled() async throws {
        try await withRuntime(Root.self) { runtime in
            let outcome = try await runtime.ask(AskNobody(isCancelled: true))
            #expect(outcome == "CancellationError")
        }
    }
}
