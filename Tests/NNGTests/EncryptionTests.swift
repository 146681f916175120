import ConcurrencySupport
import Glibc
import NNG
import TestSupport
import Testing

/// Encrypted connections between real certificates.
@Suite("Encryption", .serialized, .timeLimit(minutes: 2))
struct EncryptionTests {
    static func security(
        _ certificates: Certificates,
        _ name: String,
        authority: Certificates? = nil,
        hasList: Bool = false
    ) throws -> TLSConfiguration {
        TLSConfiguration(
            authority: try (authority ?? certificates).text("ca.crt"),
            certificate: try certificates.text("\(name).crt"),
            key: try certificates.text("\(name).key"),
            revocations: hasList ? try certificates.text("ca.crl") : nil
        )
    }

    /// What became of both ends of a connection.
    private struct Meeting {
        var dialled: Result<PairConnection, NNGError>
        var accepted: Result<PairConnection, NNGError>

        var reasons: [NNGError.Code?] {
            [dialled, accepted].map { end in if case .failure(let error) = end { error.code } else { nil } }
        }

        /// Whether a message of the dialler arrives.
        func carriesAMessage() async -> Bool {
            guard case .success(let dialled) = dialled, case .success(let accepted) = accepted else { return false }
            try? await dialled.send([1, 2, 3])
            return (try? await accepted.receive()) == [1, 2, 3]
        }
    }

    private func meet(_ listening: TLSConfiguration, _ dialling: TLSConfiguration, name: String) async throws -> Meeting {
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: listening)
        let url = "tls+tcp://127.0.0.1:\(try #require(listener.port))"
        async let dialled = Self.outcome { () async throws(NNGError) in
            try await PairConnection.dial(url, security: (dialling, name), timeout: .seconds(5))
        }
        let accepted = await Self.outcome { () async throws(NNGError) in
            try await PairConnection.negotiate(listener.accept(), timeout: .seconds(5))
        }
        let meeting = Meeting(dialled: await dialled, accepted: accepted)
        listener.close()
        return meeting
    }

    private static func outcome(_ body: () async throws(NNGError) -> PairConnection) async -> Result<PairConnection, NNGError> {
        do throws(NNGError) { return .success(try await body()) } catch { return .failure(error) }
    }

    @Test func messagesOfAllSizesArriveInBothDirections() async throws {
        let certificates = try await Certificates("a", "b")
        let meeting = try await meet(try Self.security(certificates, "b"), try Self.security(certificates, "a"), name: "b")
        let (dialled, accepted) = (try meeting.dialled.get(), try meeting.accepted.get())
        for size in [0, 1, 100, 16_375, 16_384, 65_536, 1 << 20] {
            let message = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
            async let sending: Void = dialled.send(message)
            #expect(try await accepted.receive() == message)
            try await sending
            #if !SLOW_PATH_ONLY
            let isComplete = Lock(false)
            let hasLeft = accepted.transmitAtOnce(message) { error in
                if let error { Issue.record(error) }
                isComplete.withLock { $0 = true }
            }
            // Whether a larger one leaves at once depends on the room in the kernel.
            if size <= 16_384 { #expect(hasLeft) }
            #expect(try await dialled.receive() == message)
            #expect(await eventually { isComplete.withLock { $0 } == !hasLeft })
            #endif
        }
        #expect(dialled.peer == nil)
        dialled.close()
        #expect(await code { () async throws(NNGError) in try await accepted.receive() } == .connectionShut)
        #expect(await code { () async throws(NNGError) in try await dialled.receive() } == .closed)
    }

    #if !SLOW_PATH_ONLY
    /// What the kernel doesn't take at once leaves later, whole and in order, and its completion is called once.
    @Test(arguments: [1_000, 16_000, 65_000]) func whatIsntReadYetWaits(size: Int) async throws {
        let certificates = try await Certificates("a", "b")
        let meeting = try await meet(try Self.security(certificates, "b"), try Self.security(certificates, "a"), name: "b")
        let (dialled, accepted) = (try meeting.dialled.get(), try meeting.accepted.get())
        let message = { (number: Int) in [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size) }
        let completed = Lock(0)
        var sent = 0
        // A message that has to wait for nng's threads is followed by the next one when it has left, until the other end has to read.
        while sent < 32_000_000 / size {
            let before = completed.withLock { $0 }
            sent += 1
            let hasLeft = dialled.transmitAtOnce(message(sent)) { error in
                if let error { Issue.record(error) }
                completed.withLock { $0 += 1 }
            }
            if hasLeft { continue }
            guard await eventually(within: .milliseconds(500), { completed.withLock { $0 } == before + 1 }) else { break }
        }
        try #require(sent < 32_000_000 / size, "everything has left unread")
        let refused = Lock<NNGError.Code?>(nil)
        #expect(!dialled.transmitAtOnce([1]) { error in refused.withLock { $0 = error?.code } })
        #expect(refused.withLock { $0 } == .busy)
        let before = completed.withLock { $0 }
        for number in 1...sent { #expect(try await accepted.receive() == message(number)) }
        #expect(await eventually { completed.withLock { $0 } == before + 1 })
        #expect(dialled.transmitAtOnce([7]) { _ in Issue.record("a completion") })
        #expect(try await accepted.receive() == [7])
    }

    /// Connections are closed at either end while threads transmit: each message leaves, or has its completion called.
    @Test func connectionsMayCloseWhileThreadsTransmit() async throws {
        let certificates = try await Certificates("a", "b")
        let (a, b) = (try Self.security(certificates, "a"), try Self.security(certificates, "b"))
        for round in 0..<60 {
            let meeting = try await meet(b, a, name: "b")
            let (dialled, accepted) = (try meeting.dialled.get(), try meeting.accepted.get())
            let open = Lock(0)
            let transmitting = Task.detached {
                for number in 0..<200 {
                    open.withLock { $0 += 1 }
                    let body = [UInt8](repeating: UInt8(number), count: round.isMultiple(of: 3) ? 20_000 : 100)
                    guard dialled.transmitAtOnce(body, completion: { _ in open.withLock { $0 -= 1 } }) else { return }
                    open.withLock { $0 -= 1 }
                }
            }
            (round.isMultiple(of: 2) ? dialled : accepted).close()
            await transmitting.value
            #expect(await eventually { open.withLock { $0 } == 0 })
            dialled.close()
        }
    }
    #endif

    @Test func onlyTheAuthoritysCertificatesAreTrusted() async throws {
        let (own, others) = (try await Certificates("a", "b"), try await Certificates("a", "b"))
        let (a, b) = (try Self.security(own, "a"), try Self.security(own, "b"))
        #expect(try await meet(b, a, name: "b").carriesAMessage())
        // The listener's certificate is by another authority, has another name, or has expired: the dialler sees it.
        for (what, listening, name) in [
            ("another authority", try Self.security(others, "b", authority: own), "b"), ("another name", b, "c"),
        ] {
            let meeting = try await meet(listening, a, name: name)
            #expect(meeting.reasons[0] == .peerNotAuthenticated, "\(what)")
            #expect(!(await meeting.carriesAMessage()), "\(what)")
        }
        // The dialler's: the listener sees it, and the dialler gets nothing.
        let meeting = try await meet(b, try Self.security(others, "a", authority: own), name: "b")
        #expect(meeting.reasons == [.cryptography, .peerNotAuthenticated])
        #expect(!(await meeting.carriesAMessage()))
    }

    @Test func expiredCertificatesAreRefused() async throws {
        let certificates = try await Certificates("a", "b")
        let (a, b) = (try Self.security(certificates, "a"), try Self.security(certificates, "b"))
        try await certificates.expire("a")
        try await certificates.expire("b")
        #expect(try await meet(b, try Self.security(certificates, "a"), name: "b").reasons[1] == .peerNotAuthenticated)
        #expect(try await meet(try Self.security(certificates, "b"), a, name: "b").reasons[0] == .peerNotAuthenticated)
    }

    @Test func revokedCertificatesAreRefused() async throws {
        let certificates = try await Certificates("a", "b", "c")
        func security(_ name: String, hasList: Bool = true) throws -> TLSConfiguration {
            try Self.security(certificates, name, hasList: hasList)
        }
        try await certificates.revoke("a")
        // The listener sees it, and the dialler.
        #expect(try await meet(security("b"), security("a", hasList: false), name: "b").reasons[1] == .peerNotAuthenticated)
        #expect(try await meet(security("a", hasList: false), security("b"), name: "a").reasons[0] == .peerNotAuthenticated)
        let meeting = try await meet(security("b"), security("c"), name: "b")
        #expect(await meeting.carriesAMessage())
        // A later list has the certificate of a connection that there is.
        let accepted = try meeting.accepted.get()
        #expect(!accepted.isRevoked(by: try security("b")))
        try await certificates.revoke("a", "c")
        #expect(accepted.isRevoked(by: try security("b")))
        #expect(!(try meeting.dialled.get().isRevoked(by: try security("c"))))
        // Nobody is believed by a list that has expired, and one of another authority is of no use.
        try await certificates.revoke(isExpired: true)
        #expect(try await meet(security("b"), security("c", hasList: false), name: "b").reasons[1] == .peerNotAuthenticated)
        let others = try await Certificates("a")
        try await others.revoke("a")
        var foreign = try security("b")
        foreign.revocations = try others.text("ca.crl")
        #expect(await code { () async throws(NNGError) in try foreign.check() } == .cryptography)
    }

    /// Every suite that OpenSSL knows × a key that it's for, and every version.
    @Test func onlyKeysOfOneConnectionAndCiphersThatAuthenticateAreSpoken() async throws {
        let (elliptic, rsa) = (try await Certificates("a", "b"), try await Certificates("a", "b"))
        try await rsa.replaceKey(of: "b", by: "rsa:2048")
        let openssl = BuiltProgram(path: "/usr/bin/openssl")
        let list = try await openssl.run(["ciphers", "-s", "-tls1_2", "ALL:@SECLEVEL=0"]).output
        let names = list.split { ":\n".contains($0) }.map(String.init)
        #expect(names.contains("AES128-SHA") && names.contains("ECDHE-RSA-AES128-SHA") && names.contains("DHE-RSA-AES128-GCM-SHA256"))
        func isSpoken(_ name: String) -> Bool {
            name.hasPrefix("ECDHE-") && (name.contains("-AES") && name.contains("GCM") || name.contains("CHACHA20"))
        }
        let versions = ["-tls1", "-tls1_1", "-tls1_2", "-tls1_3"]
        let trials =
            names.map { (certificates: $0.contains("ECDSA") ? elliptic : rsa, version: "-tls1_2", suite: $0 as String?) }
            + versions.flatMap { version in [elliptic, rsa].map { ($0, version, nil) } }
        let spoken = try await withThrowingTaskGroup(of: String?.self) { group in
            for (certificates, version, suite) in trials {
                let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: try Self.security(certificates, "b"))
                let port = try #require(listener.port)
                group.addTask {
                    async let accepted = Self.outcome { () async throws(NNGError) in
                        try await PairConnection.negotiate(listener.accept(), timeout: .seconds(20))
                    }
                    let own = ["-CAfile", "\(certificates.directory)/ca.crt", "-cert", "\(certificates.directory)/a.crt"]
                    let key = ["-key", "\(certificates.directory)/a.key"]
                    let ended = try await openssl.run(
                        ["s_client", "-connect", "127.0.0.1:\(port)", version, "-cipher", "\(suite ?? "ALL"):@SECLEVEL=0"] + own + key
                    )
                    let lines = ended.output.split(separator: "\n")
                    let isSpoken = lines.contains { $0.contains("Cipher is") && !$0.contains("(NONE)") } && ended.exitCode == 0
                    if let suite, isSpoken { #expect(lines.contains { $0.hasSuffix("Cipher is \(suite)") }, "\(ended)") }
                    listener.close()
                    _ = await accepted
                    return isSpoken ? suite ?? version : nil
                }
            }
            return try await group.reduce(into: Set()) { if let name = $1 { $0.insert(name) } }
        }
        #expect(spoken == Set(names.filter(isSpoken) + ["-tls1_2"]))
        #expect(spoken.count == 7)
    }

    @Test func aPeerWithoutACertificateIsRefused() async throws {
        let certificates = try await Certificates("b")
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: try Self.security(certificates, "b"))
        let port = try #require(listener.port)
        async let client = BuiltProgram(path: "/usr/bin/openssl").run(
            ["s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", "\(certificates.directory)/ca.crt", "-quiet", "-no_ign_eof"]
        )
        let accepted = await Self.outcome { () async throws(NNGError) in try await PairConnection.negotiate(listener.accept()) }
        guard case .failure(let error) = accepted else {
            Issue.record("it was let in")
            return
        }
        #expect(error.code == .peerNotAuthenticated)
        #expect(try await client.exitCode != 0)
        listener.close()
    }

    @Test func whatIsNoCertificateIsRefused() async throws {
        let certificates = try await Certificates("a")
        var nonsense = try Self.security(certificates, "a")
        nonsense.authority = "nonsense"
        let refusal = await code { () async throws(NNGError) in try StreamListener("tls+tcp://127.0.0.1:0", security: nonsense) }
        #expect(refusal == .cryptography)
        let url = "tls+tcp://127.0.0.1:1"
        #expect(
            await code { () async throws(NNGError) in try await ByteStream.dial(url, security: (nonsense, "a"), timeout: .seconds(5)) }
                == .cryptography
        )
    }

    @Test func addressAndCertificatesBelongTogether() async throws {
        let certificates = try await Certificates("a")
        let security = try Self.security(certificates, "a")
        #expect(await code { () async throws(NNGError) in try StreamListener("tls+tcp://127.0.0.1:0") } == .invalidArgument)
        #expect(await code { () async throws(NNGError) in try StreamListener("tcp://127.0.0.1:0", security: security) } == .invalidArgument)
        #expect(await code { () async throws(NNGError) in try await ByteStream.dial("tls+tcp://127.0.0.1:1") } == .invalidArgument)
        let plain = try StreamListener("tcp://127.0.0.1:0")
        #expect(await code { () async throws(NNGError) in try plain.use(security) } == .invalidArgument)
    }

    @Test func aPeerThatSaysNothingIsLeftInTime() async throws {
        let certificates = try await Certificates("a", "b")
        let begin = ContinuousClock.now
        let silent = try StreamListener("tcp://127.0.0.1:0")
        let url = "tls+tcp://127.0.0.1:\(try #require(silent.port))"
        let security = try Self.security(certificates, "a")
        async let stream = silent.accept()
        #expect(
            await code { () async throws(NNGError) in
                try await PairConnection.dial(url, security: (security, "b"), timeout: .milliseconds(300))
            } == .timedOut
        )
        _ = try await stream
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: try Self.security(certificates, "b"))
        let other = try await ByteStream.dial("tcp://127.0.0.1:\(try #require(listener.port))")
        let accepted = try await listener.accept()
        #expect(
            await code { () async throws(NNGError) in try await PairConnection.negotiate(accepted, timeout: .milliseconds(300)) }
                == .timedOut
        )
        // A task that is cancelled, and a stream that is closed, in the middle of it.
        let third = try await ByteStream.dial("tcp://127.0.0.1:\(try #require(listener.port))")
        let (fourth, fifth) = (try await listener.accept(), try await ByteStream.dial("tcp://127.0.0.1:\(try #require(listener.port))"))
        let receiving = Task { await code { () async throws(NNGError) in try await fourth.receive(upTo: 1) } }
        receiving.cancel()
        #expect(await receiving.value == .canceled)
        let seventh = try await ByteStream.dial("tcp://127.0.0.1:\(try #require(listener.port))")
        let eighth = try await listener.accept()
        let sending = Task { await code { () async throws(NNGError) in try await eighth.send([1]) } }
        try await realTime(.milliseconds(50), because: "nothing tells that a send waits, and before that a cancellation shows nothing")
        sending.cancel()
        #expect(await sending.value == .canceled)
        let sixth = try await listener.accept()
        async let closed = code { () async throws(NNGError) in try await sixth.receive(upTo: 1) }
        sixth.close()
        #expect(await closed == .closed)
        #expect(ContinuousClock.now - begin < .patient(.seconds(20)))
        withExtendedLifetime((other, third, fifth, seventh)) {}
        listener.close()
        #expect(await code { () async throws(NNGError) in try await listener.accept() } == .closed)
    }

    /// Streams are opened and closed while bytes move, again and again: nothing hangs, and no descriptor is left.
    @Test func connectionsComeAndGo() async throws {
        let certificates = try await Certificates("a", "b")
        let (a, b) = (try Self.security(certificates, "a"), try Self.security(certificates, "b"))
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: b)
        let url = "tls+tcp://127.0.0.1:\(try #require(listener.port))"
        let echo = Task {
            await withDiscardingTaskGroup { group in
                while let stream = try? await listener.accept() {
                    group.addTask {
                        guard let connection = try? await PairConnection.negotiate(stream) else { return }
                        while let message = try? await connection.receive() { try? await connection.send(message) }
                    }
                }
            }
        }
        let before = Files.names(in: "/proc/self/fd").count
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    guard let connection = try? await PairConnection.dial(url, security: (a, "b")) else {
                        Issue.record("connection \(number) wasn't made")
                        return
                    }
                    let message = [UInt8](repeating: UInt8(number), count: 1000)
                    for _ in 0..<10 {
                        try? await connection.send(message)
                        #expect((try? await connection.receive()) == message)
                    }
                    // In the middle of a message.
                    let sending = Task { try? await connection.send([UInt8](repeating: 7, count: 1 << 20)) }
                    connection.close()
                    await sending.value
                }
            }
        }
        listener.close()
        await echo.value
        #expect(await eventually { Files.names(in: "/proc/self/fd").count <= before + 2 })
    }
}
