import ConcurrencySupport
import Glibc
import NNG
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// A server and its clients on a real socket.
@Suite(.timeLimit(minutes: 1)) struct ControlServerTests {
    @Test("Every operation reaches the handler with its arguments")
    func everyOperationReachesTheHandlerAsItWasMeant() async throws {
        let handler = FakeHandler()
        let operations = ControlOperation.samples
        #expect(Set(operations.map(\.name)) == Set(ControlOperation.types.map { $0.name }))
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            for operation in operations {
                let result = try await client.call(operation)
                #expect(result == ["op": .string(operation.name)])
            }
        }
        #expect(handler.operations == operations)
    }

    @Test("Concurrent calls get their own answers")
    func callsAtTheSameTimeFindTheirOwnAnswers() async throws {
        let answered = (0...200).map { _ in OneShot<Void>() }
        answered[200].settle()
        let handler = FakeHandler { operation in
            let payload = (operation.content as? ControlOperation.Ask)?.payload
            guard case .integer(let number)? = payload else { return .success(nil) }
            // The later ones answer first.
            _ = await answered[Int(number) + 1].valueUnlessCancelled()
            answered[Int(number)].settle()
            return .success(["reply": .integer(number), "duration_us": 1])
        }
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 as Range<Int64> {
                    group.addTask {
                        let answer = try await client.ask("/a", "Echo", payload: .integer(number))
                        #expect(answer.reply == .integer(number))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("The client throws the handler's error")
    func theHandlersErrorIsTheClients() async throws {
        let handler = FakeHandler { _ in .failure(ControlError(.noSuchPath, "there is no /x")) }
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            #expect(
                await failure { () throws(ControlError) in try await client.status("/x") } == ControlError(.noSuchPath, "there is no /x")
            )
            // The connection is still good.
            let error = await failure { () throws(ControlError) in try await client.ping() }
            #expect(error?.code == .noSuchPath)
        }
    }

    @Test("A message that isn't a request is answered with an error, and the connection stays open")
    func whatIsNoRequestIsAnsweredAndTheConnectionStays() async throws {
        try await withServer { directory, _ in
            let client = try await RawClient(directory)
            func refuses(_ text: String, id: String, _ message: String) async throws {
                try await client.say(text, andHear: #"{"error":{"code":"invalidRequest","message":"\#(message)"},"id":\#(id),"v":1}"#)
            }
            try await refuses("", id: "null", "not valid JSON: line 1, column 1: expected a value, found the end")
            try await refuses("{\"v\":1,", id: "null", "not valid JSON: line 1, column 8: expected a key in double quotes")
            try await refuses("[1]", id: "null", #"the request isn't a JSON object; expected {\"v\":1,\"id\":1,\"op\":\"tree\"}"#)
            try await refuses(#"{"id":3,"op":"tree"}"#, id: "3", "the request has no `v`; expected a whole number")
            try await refuses(
                #"{"v":2,"id":3,"op":"tree"}"#,
                id: "3",
                "the request is written in version 2 of the control protocol; this daemon speaks version 1"
            )
            try await refuses(#"{"v":1,"op":"tree"}"#, id: "null", "the request has no `id`; expected a whole number")
            try await refuses(#"{"v":1,"id":3}"#, id: "3", "the request has no `op`; expected a text that isn't empty")
            try await refuses(#"{"v":1,"id":3,"op":"dance"}"#, id: "3", "this daemon has no operation `dance`; see `coordinatorctl help`")
            try await refuses(#"{"v":1,"id":3,"op":"stop"}"#, id: "3", "the request has no `path`; expected a text that isn't empty")
            try await refuses(
                #"{"v":1,"id":3,"op":"stop","path":"shop"}"#,
                id: "3",
                "the path `shop` doesn't begin with a slash; expected a path such as /shop/cart"
            )
            try await refuses(
                #"{"v":1,"id":3,"op":"ask","path":"/","message":"M","timeout_ms":0}"#,
                id: "3",
                "`timeout_ms` is out of range; expected a number from 1 to 3600000"
            )
            try await refuses(
                #"{"v":1,"id":3,"op":"ping","request_id":5}"#,
                id: "3",
                "`request_id` isn't a text of 1 to 128 bytes; expected something like a UUID"
            )
            try await refuses(#"{"v":1,"id":3,"op":"cancel"}"#, id: "3", "the request has no `target`; expected a whole number")
            try await client.say(
                #"{"v":1,"id":4,"op":"ping","of":"a newer client"}"#,
                andHear: #"{"id":4,"result":{"op":"ping"},"v":1}"#
            )
        }
    }

    @Test("A request ID can be used again when its answer was read")
    func anIDIsFreeAgainWhenItsAnswerIsRead() async throws {
        try await withServer { directory, _ in
            let client = try await RawClient(directory)
            for _ in 0..<500 {
                try await client.say(#"{"v":1,"id":1,"op":"ping"}"#, andHear: #"{"id":1,"result":{"op":"ping"},"v":1}"#)
            }
        }
    }

    @Test("A deeply nested request is refused before it is decoded")
    func deepNestingIsRefusedBeforeItIsDecoded() async throws {
        try await withServer { directory, _ in
            let client = try await RawClient(directory)
            let text = #"{"v":1,"id":1,"op":"send","path":"/","message":"M","payload":"# + String(repeating: "[", count: 100_000)
            try await client.say(text)
            let answer = try await client.hear()
            #expect(answer.contains("nested more than 128 deep"))
        }
    }

    @Test("A request that is too large is refused")
    func aRequestThatIsTooLargeIsRefused() async throws {
        try await withServer { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let large = JSONValue.string(String(repeating: "x", count: ControlServer.maximumRequestSize))
            let error = await failure { () throws(ControlError) in try await client.send("/", "M", payload: large) }
            #expect(error?.code == .invalidRequest)
            try await client.ping()
        }
    }

    @Test("Bytes that aren't messages end their own connection and no other")
    func garbageEndsItsOwnConnectionOnly() async throws {
        try await withServer { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let url = "ipc://" + directory.controlSocket
            let greeting: [UInt8] = [0, 0x53, 0x50, 0, 0, 0x10, 0, 0]
            let garbage: [[UInt8]] = [
                Array("GET / HTTP/1.1\r\n\r\n".utf8), [UInt8](repeating: 0xFF, count: 100_000),
                greeting + [1] + [UInt8](repeating: 0x7F, count: 8),  // a message of 2^62 bytes
                greeting + [2, 0, 0, 0, 0, 0, 0, 0, 1, 0], greeting + [1, 0, 0], [],
            ]
            for bytes in garbage {
                let stream = try await ByteStream.dial(url, timeout: .seconds(50))
                // The server may have hung up before it has read everything.
                try? await stream.send(bytes)
                try await client.ping()
                stream.close()
                try await client.ping()
            }
            // A silent connection doesn't keep the others waiting.
            let silent = try await ByteStream.dial(url, timeout: .seconds(50))
            try await ControlClient.connect(runtimeDirectory: directory).ping()
            silent.close()
        }
    }

    @Test("A client that doesn't read its answers doesn't keep other clients waiting")
    func aClientThatDoesNotReadDisturbsNobody() async throws {
        let handler = FakeHandler { operation in
            // Together many times what the kernel takes.
            if case .tree = operation { return .success(.string(String(repeating: "x", count: 1 << 16))) }
            return .success(nil)
        }
        try await withServer(handler) { directory, _ in
            let slow = try await RawClient(directory)
            for id in 0..<100 { try await slow.say(#"{"v":1,"id":\#(id),"op":"tree"}"#) }
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            for _ in 0..<100 { try await client.ping() }
            slow.connection.close()
        }
    }

    @Test("An answer that can't be written as JSON becomes an error")
    func anAnswerThatCannotBeWrittenIsAnError() async throws {
        try await withServer(FakeHandler { _ in .success(["n": .number(.infinity)]) }) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let error = await failure { () throws(ControlError) in try await client.call(.tree) }
            #expect(error?.code == .failed)
            #expect(error?.message.hasPrefix("the value can't be written as JSON") == true)
        }
    }

    @Test("Requests beyond the limit of open ones are refused")
    func tooManyOpenRequestsAreRefused() async throws {
        let gate = OneShot<Void>()
        let handler = FakeHandler { _ in
            _ = await gate.valueUnlessCancelled()
            return .success(nil)
        }
        try await withServer(handler) { directory, _ in
            let client = try await RawClient(directory)
            for id in 0...ControlServer.maximumOpenRequests { try await client.say(#"{"v":1,"id":\#(id),"op":"ping"}"#) }
            let refusal = try await client.hear()
            #expect(refusal.contains(#""code":"failed""#) && refusal.contains(#""id":256"#))
            try await client.say(#"{"v":1,"id":7,"op":"ping"}"#)
            let reuse = try await client.hear()
            #expect(reuse.contains("the request 7 of this connection is still open"))
            gate.settle()
            for _ in 0..<ControlServer.maximumOpenRequests { _ = try await client.hear() }
        }
    }

    @Test("Users who are not allowed are refused")
    func otherUsersAreTurnedAway() async throws {
        let handler = FakeHandler()
        try await withServer(handler, allowedUserIDs: []) { directory, _ in
            for _ in 0..<20 {
                let client = try await ControlClient.connect(runtimeDirectory: directory)
                let error = await failure { () throws(ControlError) in try await client.ping() }
                #expect(error == ControlError(.notPermitted, "user \(geteuid()) may not operate this daemon; allowed: no user"))
            }
        }
        #expect(handler.operations == [])
    }
}
