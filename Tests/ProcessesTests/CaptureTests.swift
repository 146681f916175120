import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct Capture {
        @Test func outputAndErrorAreKeptApart() async throws {
            let output = Transcript()
            let error = Transcript()
            _ = try await withChild(shell("echo out; echo err >&2").collecting(output, error: error)) { await $0.waitForExit() }
            // All that was written, and the end, come before the exit is told.
            #expect(output.text == "out\n")
            #expect(error.text == "err\n")
            #expect(output.ends == 1)
            #expect(error.ends == 1)
        }

        @Test func outputAndErrorCanShareOneCapture() async throws {
            var specification = shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
            specification.standardError = .sameAsOutput
            #expect(try await run(specification).1 == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n")
        }

        @Test func tenMegabytesAreNotHeldUp() async throws {
            let output = Transcript()
            let specification = shell("head -c 10485760 /dev/zero | tr '\\0' x; exit 3").collecting(output)
            let status = try await withChild(specification) { await $0.waitForExit() }
            #expect(status == .exited(code: 3))
            #expect(output.bytes.count == 10_485_760)
            #expect(output.bytes.allSatisfy { $0 == UInt8(ascii: "x") })
        }

        @Test func outputWaitsWhileItsReceiverIsFullForASecondAtMost() async throws {
            let output = Transcript()
            var specification = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo; sleep 1000").collecting(output)
            specification.isOutputFull = { true }
            let began = ContinuousClock.now
            try await withChild(specification) { _ in
                try await eventually("the output is delivered though the receiver is full") { output.bytes.count == 1_000_001 }
                #expect(ContinuousClock.now - began >= .milliseconds(900))
            }
        }

        @Test func aGrandchildThatHoldsThePipeDelaysNobody() async throws {
            // The grandchild leaves the group, so that only closing the pipe can end the capture.
            let specification = shell("setsid sh -c 'echo $$; read line < /dev/null; exec sleep 100' & wait $!")
            try await withGrandchild(specification) { child, grandchild, output in
                try child.send(.kill)
                #expect(await child.waitForExit() == .signaled(.kill, coreDumped: false))
                #expect(output.ends == 0, "the pipe is open as long as the grandchild has it")
                child.endCapture()
                try await eventually("the end of the capture") { output.ends == 1 }
                #expect(grandchild.isAlive)
            }
        }

        @Test func aGrandchildMayGoOnWritingAfterTheChild() async throws {
            let (gate, opener) = try makePipe()
            var specification = shell("(read x <&3; echo late) & echo early")
            specification.descriptors = [.init(source: gate, target: 3)]
            let output = Transcript()
            let status = try await withChild(specification.collecting(output)) { child in
                close(gate)
                let status = await child.waitForExit()
                #expect(output.text == "early\n")
                close(opener)
                try await eventually("the end of the capture") { output.ends == 1 }
                return status
            }
            #expect(status == .exited(code: 0))
            #expect(output.text == "early\nlate\n")
        }

        @Test func terminatingEndsTheCaptureWhoeverHoldsThePipe() async throws {
            try await withGrandchild(shell("setsid sh -c 'echo $$; exec sleep 100' & exec sleep 100")) { child, _, output in
                _ = await child.terminate(grace: .patient(.seconds(10)))
                #expect(output.ends == 1)
            }
        }

        /// The exit is known before the end of the capture, whose delivery is held up here.
        @Test func anExitIsAnnouncedAfterTheEndOfTheCaptureAlsoToLateObservers() async throws {
            var systemCalls = SystemCalls.live
            let gate = ThreadGate()
            let started = Lock<ChildProcess?>(nil)
            systemCalls.available = { descriptor in
                if started.withLock({ $0 })?.exitStatus != nil { gate.pass() }
                return SystemCalls.live.available(descriptor)
            }
            let output = Transcript()
            let specification = shell("setsid sh -c 'echo $$; exec sleep 100' & exec sleep 100").collecting(output)
            let child = try await ProcessSpawner(systemCalls: systemCalls).spawn(specification)
            let grandchild = try #require(ProcessIdentity(processID: try await output.processID()))
            defer { try? grandchild.send(.kill) }
            started.withLock { $0 = child }
            let ending = Task { await child.terminate(grace: .patient(.seconds(10))) }
            defer { gate.open() }
            try await eventually("the exit") { child.exitStatus != nil }
            let waiting = Task.immediate {
                _ = await child.waitForExit()
                return output.ends
            }
            #expect(output.ends == 0)
            gate.open()
            #expect(await waiting.value == 1)
            _ = await ending.value
        }
    }
}
