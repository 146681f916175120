import ConcurrencySupport
import CoordinatorsCluster
import Glibc
import Processes
import Synchronization
import TestSupport
import Testing

/// Users with passwords, and certificates.
@Suite struct EtcdSecurityTests {
    private final class Logins: Sendable {
        let count = Atomic(0)
    }

    @Test func aUserHasATokenThatIsRenewed() async throws {
        try await EtcdMembers.with(1) { etcd in
            try await etcd.etcdctl("user", "add", "root:secret")
            try await etcd.etcdctl("role", "add", "cluster")
            try await etcd.etcdctl("role", "grant-permission", "cluster", "--prefix=true", "readwrite", "/coordinators/mine/")
            try await etcd.etcdctl("user", "add", "node:password")
            try await etcd.etcdctl("user", "grant-role", "node", "cluster")
            try await etcd.etcdctl("user", "grant-role", "root", "root")
            try await etcd.etcdctl("auth", "enable")
            func store(_ user: String?, _ password: String, _ cluster: String = "mine") throws -> EtcdStore {
                let credentials = user.map { EtcdOptions.Credentials(user: $0, password: password) }
                return try EtcdStore(EtcdOptions(endpoints: etcd.endpoints, cluster: cluster, credentials: credentials))
            }
            for (user, password, cluster) in [("node", "wrong", "mine"), (nil, "", "mine"), ("node", "password", "other")] {
                let stranger = try store(user, password, cluster)
                let error = await failure { _ = try await stranger.list(.everything, until: soon) }
                #expect(error?.code == .refused, "\(user ?? "no user"), \(password), \(cluster): \(error?.message ?? "")")
                await stranger.close()
            }
            let own = try store("node", "password")
            let alpha = try await own.joined("alpha")
            let revision = try await own.list(.everything, until: soon).revision
            var watch = own.watch(.folder(.owners), after: revision).makeAsyncIterator()
            try await realTime(.seconds(5), because: "etcd forgets the token after three seconds here")
            let epoch = try await own.owned("/shop", by: alpha)
            #expect(await watch.changes(1).compactMap(\.entry).map { Owner($0).epoch } == [epoch])
            await own.close()
        }
    }

    @Test func aUserWithoutUsersInEtcdIsLetIn() async throws {
        try await EtcdMembers.with(1) { etcd in
            try await etcd.withStore(changed: { $0.credentials = EtcdOptions.Credentials(user: "node", password: "password") }) {
                store in
                _ = try await store.joined("alpha")
            }
        }
    }

    /// A node that has found no users goes on without a token, until etcd asks for one.
    @Test func usersThatAreMadeLaterAreLoggedIn() async throws {
        let areUsers = Lock(false)
        let peer = try ScriptedPeer { connection in
            while let request = connection.request() {
                let needsUser = areUsers.withLock { $0 }
                if request.contains("/v3/auth/authenticate") {
                    if needsUser {
                        connection.answer(#"{"token":"a.1"}"#)
                    } else {
                        connection.answer(#"{"error":"etcdserver: authentication is not enabled","code":9}"#, status: "400 Bad Request")
                    }
                } else if needsUser, !request.contains("Authorization: a.1") {
                    connection.answer(#"{"error":"etcdserver: user name is empty","code":3}"#, status: "400 Bad Request")
                } else {
                    connection.answer(#"{"header":{"revision":"1"}}"#)
                }
            }
        }
        let store = try EtcdStore(Self.options(of: peer))
        #expect(try await store.list(.everything, until: soon).entries.isEmpty)
        areUsers.withLock { $0 = true }
        #expect(try await store.list(.everything, until: soon).entries.isEmpty)
        await store.close()
    }

    /// A watch is refused in an event of it.
    ///
    /// Before 3.4.22 and 3.5.6 etcd names the permission alone, whatever is wrong with the token.
    @Test(arguments: ["etcdserver: user name is empty", "rpc error: code = PermissionDenied desc = etcdserver: permission denied"])
    func aWatchThatIsRefusedGetsAnotherToken(_ reason: String) async throws {
        let (logins, granted) = (Logins(), Logins())
        let refusal = #"{"result":{"header":{"revision":"1"},"created":true,"canceled":true,"cancel_reason":"\#(reason)"}}"#
        let peer = try ScriptedPeer { connection in
            while let request = connection.request() {
                if request.contains("/v3/auth/authenticate") {
                    let number = logins.count.add(1, ordering: .relaxed).newValue
                    connection.answer(#"{"token":"a.\#(number)"}"#)
                } else if request.contains("Authorization: a.1") {
                    connection.answer(refusal + "\n")
                } else {
                    granted.count.add(1, ordering: .relaxed)
                    connection.beginAnswer()
                    connection.send(chunk: Array((#"{"result":{"header":{"revision":"1"},"created":true}}"# + "\n").utf8))
                    connection.waitForEnd()
                }
            }
        }
        let store = try EtcdStore(Self.options(of: peer))
        let watching = Task { for await _ in store.watch(.everything, after: StoreRevision(rawValue: 1)) {} }
        defer { watching.cancel() }
        try await eventually("the watch is begun with another token") { granted.count.load(ordering: .relaxed) > 0 }
        #expect(logins.count.load(ordering: .relaxed) == 2)
        await store.close()
    }

    private static func options(of peer: ScriptedPeer) -> EtcdOptions {
        var options = EtcdOptions(endpoints: ["http://127.0.0.1:\(peer.port)"], cluster: "mine")
        options.credentials = EtcdOptions.Credentials(user: "node", password: "password")
        return options
    }

    /// On an overloaded machine etcd takes longer to compute a login than a request may wait: it's asked for one, not for one by each request.
    @Test func aLoginOutlastsTheRequestsThatWaitForIt() async throws {
        let (logins, gate) = (Logins(), ThreadGate())
        let peer = try ScriptedPeer { connection in
            while let request = connection.request() {
                if request.contains("/v3/auth/authenticate") {
                    logins.count.add(1, ordering: .relaxed)
                    gate.pass()
                    connection.answer(#"{"token":"a.1"}"#)
                } else {
                    connection.answer(request.contains("Authorization: a.1") ? #"{"header":{"revision":"1"}}"# : "{}")
                }
            }
        }
        var options = EtcdOptions(endpoints: ["http://127.0.0.1:\(peer.port)"], cluster: "mine", tryLimit: .milliseconds(50))
        options.credentials = EtcdOptions.Credentials(user: "node", password: "password")
        let store = try EtcdStore(options)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let error = await failure { _ = try await store.list(.everything, until: .now + .milliseconds(300)) }
                    #expect(error?.code == .timedOut)
                }
            }
        }
        #expect(logins.count.load(ordering: .relaxed) == 1)
        gate.open()
        #expect(try await store.list(.everything, until: soon).entries.isEmpty)
        #expect(logins.count.load(ordering: .relaxed) == 1)
        await store.close()
    }

    @Test func certificatesAreAskedOfBothSides() async throws {
        let directory = try TemporaryDirectory()
        let (own, others) = (directory.file("own"), directory.file("others"))
        try await certificates(own, "etcd=127.0.0.1", "alpha")
        try await certificates(others, "etcd=127.0.0.1", "alpha")
        try await EtcdMembers.with(1, security: EtcdMembers.Security(certificates: own)) { etcd in
            func security(_ authority: String, _ certificate: String?) -> EtcdOptions.Security {
                EtcdOptions.Security(
                    authority: "\(authority)/ca.crt",
                    certificate: certificate.map { "\($0)/alpha.crt" },
                    key: certificate.map { "\($0)/alpha.key" }
                )
            }
            try await etcd.withStore(changed: { $0.security = security(own, own) }) { store in
                let alpha = try await store.joined("alpha")
                let revision = try await store.list(.everything, until: soon).revision
                var watch = store.watch(.folder(.owners), after: revision).makeAsyncIterator()
                let epoch = try await store.owned("/shop", by: alpha)
                #expect(await watch.changes(1).compactMap(\.entry).map { Owner($0).epoch } == [epoch])
            }
            for (name, wrong) in [
                ("another authority of etcd", security(others, own)), ("no certificate of the node", security(own, nil)),
                ("another authority of the node", security(own, others)),
            ] {
                try await etcd.withStore(changed: { $0.security = wrong }) { store in
                    let error = await failure { _ = try await store.list(.everything, until: .now + .seconds(1)) }
                    #expect(error?.code == .unavailable || error?.code == .timedOut, "\(name)")
                    print("\(name): \(error?.message ?? "")")
                }
            }
            // The certificate has the address, and localhost, but no other name.
            let elsewhere = etcd.endpoints.map { $0.replacing("127.0.0.1", with: "127.0.0.2") }
            try await etcd.withStore(changed: { ($0.security, $0.endpoints) = (security(own, own), elsewhere) }) { store in
                #expect(await failure { _ = try await store.list(.everything, until: .now + .seconds(1)) }?.code == .unavailable)
            }
        }
    }

    /// A connection that was made with the former files would still be let in.
    @Test func certificatesThatAreRenewedAreUsedFromTheNextRequestOn() async throws {
        let directory = try TemporaryDirectory()
        let (own, others, used) = (directory.file("own"), directory.file("others"), directory.file("used"))
        try await certificates(own, "etcd=127.0.0.1", "alpha")
        try await certificates(others, "etcd=127.0.0.1", "alpha")
        try await certificates(used, "alpha")
        let security = EtcdOptions.Security(authority: "\(used)/ca.crt", certificate: "\(used)/alpha.crt", key: "\(used)/alpha.key")
        func use(_ files: [String], of directory: String) throws {
            for file in files { try Files.write(try #require(Files.text(of: "\(directory)/\(file)")), to: "\(used)/\(file)") }
        }
        try await EtcdMembers.with(1, security: EtcdMembers.Security(certificates: own)) { etcd in
            try use(["ca.crt", "alpha.crt", "alpha.key"], of: own)
            try await etcd.withStore(changed: { $0.security = security }) { store in
                for files in [["ca.crt"], ["alpha.crt", "alpha.key"]] {
                    _ = try await store.list(.everything, until: soon)
                    try use(files, of: others)
                    try await store.renew()
                    let error = await failure { _ = try await store.list(.everything, until: .now + .seconds(1)) }
                    #expect(error?.code == .unavailable || error?.code == .timedOut, "\(files)")
                    try use(files, of: own)
                    try await store.renew()
                }
                // What can't be read changes nothing.
                try Files.write("nothing", to: "\(used)/alpha.key")
                #expect(await failure { try await store.renew() }?.code == .unusable)
                _ = try await store.list(.everything, until: soon)
            }
        }
    }

    @Test(arguments: ["authority", "certificate", "key"], [nil, "", "-----BEGIN NOTHING-----\n"])
    func certificatesThatAreNoneAreRefused(_ file: String, _ content: String?) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("file.pem")
        if let content { try Files.write(content, to: path) }
        try Files.write("-----BEGIN CERTIFICATE-----\n", to: directory.file("good.crt"))
        try Files.write("-----BEGIN EC PRIVATE KEY-----\n", to: directory.file("good.key"))
        let security = EtcdOptions.Security(
            authority: file == "authority" ? path : nil,
            certificate: file == "certificate" ? path : directory.file("good.crt"),
            key: file == "key" ? path : directory.file("good.key")
        )
        let options = EtcdOptions(endpoints: ["https://127.0.0.1:1"], cluster: "a", security: security)
        let error = await failure { _ = try EtcdStore(options) }
        #expect(error?.code == .unusable)
        #expect(error?.message.contains(path) == true)
    }

    /// As the daemon's own files are refused, of which `ClusterFileTests` tries more.
    @Test func aKeyThatAllMayReadIsRefused() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("open.key")
        try Files.write("-----BEGIN EC PRIVATE KEY-----\n", to: path)
        try Files.write("-----BEGIN CERTIFICATE-----\n", to: directory.file("good.crt"))
        chmod(path, 0o644)
        let security = EtcdOptions.Security(certificate: directory.file("good.crt"), key: path)
        let error = await failure { _ = try EtcdStore(EtcdOptions(endpoints: ["https://127.0.0.1:1"], cluster: "a", security: security)) }
        #expect(error?.code == .unusable && error?.message.contains("\(path): it isn't used: all users may read it") == true)
    }

    private func certificates(_ arguments: String...) async throws {
        let specification = ProcessSpecification(
            executable: Files.packageRoot + "/Deploy/certificates",
            arguments: arguments,
            standardOutput: .null
        )
        #expect(try await ProcessSpawner.shared.spawn(specification).waitForExit() == .exited(code: 0))
    }
}
