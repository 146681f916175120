import WireProtocol

extension Keys {
    static let cluster = Table(
        "cluster",
        ClusterConfiguration(name: "", store: .etcd([])),
        .one(["endpoints", "directory"]),
        .both("user", "password_file"),
        .needs("listen", "token_file") { "\($0) has no `token_file`; expected the path of the file with the cluster's secret" },
        .needs("address", "listen") { _ in "`address` is for a node with `listen`" },
        .needs("token_file", "listen") { _ in "`token_file` is for a node with `listen`" },
        .needs("link_tls", "listen") { _ in "`link_tls` is for a node with `listen`" },
        .when("password_file", ["endpoints": ["items": ["pattern": "^https:"]]]),
        .schema([
            "if": ["required": ["listen"], "properties": ["listen": ["pattern": "^(0\\.0\\.0\\.0|\\[::\\]):"]]],
            "then": ["required": ["address"]],
        ]),
        .schema([
            "if": ["required": ["listen"], "not": ["required": ["link_tls"]]],
            "then": ["required": ["tls"], "properties": ["tls": ["required": ["authority", "certificate", "key"]]]],
        ]),
        .when("listen", ["link_tls": ["required": ["authority", "certificate", "key"]]])
    ) {
        Key("name", .label, \.name).required("the cluster's name").says("The cluster's name: letters, digits and hyphens.")
        Key("node", .label, \.node, default: "the host's name").or("hostname")
            .says("The node's name, unique in the cluster: letters, digits and hyphens.")
        Key("endpoints", .endpoints, \.endpoints, default: "one of `endpoints` and `directory` is required").or("etcd")
            .says("The addresses of etcd's members, such as `[https://10.0.0.1:2379]`.")
        Key("directory", .path("the path of a directory"), \.directory, default: "")
            .says("The directory of a cluster of one node, which needs no etcd.")
        Key("ttl", .duration(atLeast: .seconds(2)), \.timeToLive).or("lease")
            .says("The time for which the store keeps the node's lease when it isn't renewed, at least `2s`.")
        Key("labels", .labels, \.labels, default: "none").or("tags").says("What the node has, such as `{ disk: ssd }`.")
        Key("capacity", .integer(1...1_000_000), \.capacity, default: "any")
            .says("The total of the weights of children that the node may have.")
        Key("tls", .table(storeSecurity), \.security, default: "the system's authorities")
            .says("The certificates of `https` endpoints: see below.")
        Key("user", .text("the name of a user of etcd"), \.user, default: "none").or("username").says("The user of etcd.")
        Key("password_file", .path(of: .storePassword, "the path of a file"), \.passwordFile, default: "none").or("password")
            .says("The file whose first line is the user's password.")
        Key("on_store_loss", .choice, \.onStoreLoss)
            .says(
                """
                `fence`: when the lease can't be renewed in time, the node stops the cluster's children before another node can own them; \
                `freeze`: it goes on with those that it owns.
                """
            )
        Key("rebalance", .truth, \.rebalances).says("`true`: children move to nodes that join later.")
        Key("listen", .hostAndPort, \.listen, default: "it doesn't listen")
            .says(
                """
                The host and the port at which the node takes operators' commands and coordinators' messages that other nodes pass on, \
                such as `10.0.0.1:7400`; with it, the node passes on those for children that other nodes have. Port 0 is any that is free.
                """
            )
        Key("address", .hostAndPort, \.address, default: "that of `listen`").or("advertise")
            .says("The host and the port at which other nodes reach the node.")
        Key("token_file", .path(of: .linkToken, "the path of a file"), \.tokenFile, default: "required with `listen`").or("token", "secret")
            .says("The file whose first line is a secret of at least 16 bytes, the same on all nodes of the cluster.")
        Key("link_tls", .table(security(.nodes)), \.linkSecurity, default: "those of `tls`")
            .says(
                """
                The certificates by which the nodes know each other, with the keys of `tls`, all three. The node's certificate has the \
                node's name among its DNS names. All files of `tls` and `link_tls`, the token and the password are read again at SIGHUP, \
                at `config apply` and once a minute.
                """
            )
    } check: { reader, fields, cluster in
        reader.check(fields, &cluster)
    }

    static let storeSecurity = security(.store)

    private static func security(_ peer: ClusterFile.Peer) -> Table<ClusterConfiguration.Security> {
        let isStore = peer == .store
        let (authority, certificate): (ClusterFile, ClusterFile) =
            isStore ? (.storeAuthority, .storeCertificate) : (.linkAuthority, .linkCertificate)
        let (key, revocations): (ClusterFile, ClusterFile) = isStore ? (.storeKey, .storeRevocations) : (.linkKey, .linkRevocations)
        let expected = "the path of a PEM file"
        let isUnsigned: @Sendable (String) -> String = { "\($0) has `crl` without `authority`, whose list it is; expected both" }
        return Table("tls", ClusterConfiguration.Security(), .both("certificate", "key"), .needs("crl", "authority", isUnsigned)) {
            Key("authority", .path(of: authority, expected), \.authority, default: "those of the system").or("ca", "cacert")
                .says("The authority by which etcd's certificates are.")
            Key("certificate", .path(of: certificate, expected), \.certificate, default: "none").or("cert")
                .says("The node's own certificate, if etcd asks for one.")
            Key("key", .path(of: key, expected), \.key, default: "none").says("The private key of `certificate`.")
            Key("crl", .path(of: revocations, expected), \.revocations, default: "none")
                .says(
                    """
                    The lists of the certificates that the authorities have revoked, one of each authority. Once one has expired, none of \
                    its authority's certificates is believed.
                    """
                )
        }
    }
}

extension ConfigurationReader {
    fileprivate mutating func check(_ fields: Fields, _ cluster: inout ClusterConfiguration) {
        if let node = fields["endpoints"], case .sequence(let nodes) = node.content {
            if nodes.isEmpty { report(at: node.mark, "`endpoints` is empty; expected \(Value<[String]>.endpointsExpected)") }
            for node in nodes where fields["password_file"] != nil && node.text?.hasPrefix("http://") == true {
                let text = "`\(node.text ?? "")` would get the password of `password_file` unencrypted"
                report(at: node.mark, "\(text); expected an address with https://")
            }
        }
        guard let node = fields["listen"] else { return cluster.links = nil }
        if fields["link_tls"] == nil { cluster.links?.security = cluster.security }
        guard let links = cluster.links else { return }
        if fields["address"] == nil, ["0.0.0.0:", "[::]:"].contains(where: links.listen.hasPrefix) {
            report(at: node.mark, "`listen` is all addresses of this machine; add `address`, which other nodes dial")
        }
        if [links.security.authority, links.security.certificate, links.security.key].contains(nil) {
            let place = fields["link_tls"] ?? node
            report(at: place.mark, "`listen` needs an authority, a certificate and its key; expected all three in `link_tls` or in `tls`")
        }
    }
}

// MARK: - Values

extension Value<[String]> {
    fileprivate static var endpointsExpected: String { "a list of etcd's addresses, such as [https://10.0.0.1:2379]" }

    static var endpoints: Value {
        // Without a user and a password, which nothing would keep secret.
        Value<String>.text(
            "an address such as https://10.0.0.1:2379",
            schema: ["type": "string", "pattern": "^https?://[^@]*$"],
            summary: { _, text in text.contains("@") ? "an address with a user" : "`\(text)`" },
            where: { ($0.hasPrefix("http://") || $0.hasPrefix("https://")) && !$0.contains("@") }
        )
        .list("an endpoint", expected: endpointsExpected, atLeast: 1)
    }
}

extension Value<[String: String]> {
    static var labels: Value {
        let label = Value<String>.text("a name")
        return texts(Value<String>(label.schema) { reader, node, _ in label.read(&reader, node, "a label") }, "such as {disk: ssd}")
    }
}

extension Value<String> {
    private static func isPlain(_ byte: UInt8, _ others: String.UTF8View) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: others.contains(byte)
        }
    }

    /// A name as a host's label is.
    static var label: Value {
        text(
            "1 to 63 letters, digits and hyphens, with no hyphen at either end",
            schema: ["type": "string", "maxLength": 63, "pattern": "^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"]
        ) { text in
            text.utf8.allSatisfy { isPlain($0, "-".utf8) } && text.utf8.count <= 63 && !text.hasPrefix("-") && !text.hasSuffix("-")
        }
    }

    static var hostAndPort: Value {
        text(
            "a host and a port, such as 10.0.0.1:7400 or [fd00::1]:7400",
            schema: [
                "type": "string",
                "pattern": .string("^(\\[[A-Za-z0-9.:-]{1,253}\\]|[A-Za-z0-9.-]{1,253}):\(NumberPattern.port)$"),
            ]
        ) { text in
            guard let colon = text.lastIndex(of: ":"), UInt16(text[text.index(after: colon)...]) != nil else { return false }
            let host = text[..<colon]
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            let characters = isBracketed ? host.dropFirst().dropLast() : host
            let others = isBracketed ? "-.:" : "-."
            return characters.utf8.allSatisfy { isPlain($0, others.utf8) } && (1...253).contains(characters.utf8.count)
        }
    }
}

// MARK: - Properties

extension ClusterConfiguration {
    fileprivate var endpoints: [String]? {
        get { if case .etcd(let endpoints) = store { endpoints } else { nil } }
        set { store = newValue.map { .etcd($0) } ?? store }
    }

    fileprivate var directory: String? {
        get { if case .directory(let path) = store { path } else { nil } }
        set { store = newValue.map { .directory($0) } ?? store }
    }

    /// The links, which the first of their keys makes.
    private var linked: Links {
        get { links ?? Links(listen: "", tokenFile: "", security: Security()) }
        set { links = newValue }
    }

    fileprivate var listen: String? {
        get { links?.listen }
        set { linked.listen = newValue ?? "" }
    }

    fileprivate var address: String? {
        get { links?.address }
        set { linked.address = newValue }
    }

    fileprivate var tokenFile: String? {
        get { links?.tokenFile }
        set { linked.tokenFile = newValue ?? "" }
    }

    fileprivate var linkSecurity: Security? {
        get { links?.security }
        set { linked.security = newValue ?? Security() }
    }
}
