extension ConfigurationReader {
    /// The shortest time to live: etcd grants none that is shorter by default.
    private static let shortestLease = Duration.seconds(2)

    /// Reads the mapping of `cluster`, or a file that has it alone.
    mutating func cluster(_ node: YAMLNode, _ name: String) -> ClusterConfiguration? {
        let fields = self.fields(
            node,
            name,
            keys: [
                "name", "node", "endpoints", "directory", "ttl", "labels", "capacity", "tls", "user", "password_file", "on_store_loss",
                "rebalance", "listen", "address", "token_file", "link_tls",
            ]
        )
        guard let fields else { return nil }
        let cluster = required("name", of: fields, expected: "the cluster's name").flatMap { self.label($0, "`name`") }
        guard let store = clusterStore(fields), let cluster else { return nil }
        var configuration = ClusterConfiguration(name: cluster, store: store)
        configuration.node = fields["node"].flatMap { self.label($0, "`node`") }
        if let node = fields["ttl"], let time = duration(node, "`ttl`") {
            if time < Self.shortestLease { report(at: node.mark, "`ttl` is less than 2s; expected a longer time") }
            configuration.timeToLive = time
        }
        if let node = fields["labels"] { configuration.labels = labels(node) }
        configuration.capacity = fields["capacity"].flatMap { self.wholeNumber($0, "`capacity`", in: 1...1_000_000) }
        if let node = fields["tls"] { configuration.security = security(node, "`tls`", .store) }
        configuration.links = links(fields, configuration.security)
        configuration.user = fields["user"].flatMap { self.text($0, "`user`", expected: "the name of a user of etcd") }
        let password = fields["password_file"]
        configuration.passwordFile = path(password, of: .storePassword, "`password_file`", expected: "the path of a file")
        if (fields["user"] == nil) != (fields["password_file"] == nil) {
            report(at: fields.mark, "\(name) has one of `user` and `password_file`; expected both or none")
        }
        if let password { checkEncryption(fields, password) }
        if let node = fields["on_store_loss"], let loss: ClusterConfiguration.StoreLoss = choice(node, "`on_store_loss`") {
            configuration.onStoreLoss = loss
        }
        if let node = fields["rebalance"], let rebalances = truth(node, "`rebalance`") { configuration.rebalances = rebalances }
        return configuration
    }

    /// Reports addresses to which the password would go as it is.
    private mutating func checkEncryption(_ fields: Fields, _ password: YAMLNode) {
        guard case .sequence(let nodes)? = fields["endpoints"]?.content else { return }
        for node in nodes {
            guard let text = node.text, text.hasPrefix("http://") else { continue }
            report(at: node.mark, "`\(text)` would get the password of `password_file` unencrypted; expected an address with https://")
        }
    }

    private mutating func clusterStore(_ fields: Fields) -> ClusterConfiguration.Store? {
        if let node = fields["directory"] {
            if fields["endpoints"] != nil {
                report(at: node.mark, "\(fields.name) has both `endpoints` and `directory`; expected one of them")
            }
            return path(node, "`directory`", expected: "the path of a directory").map { .directory($0) }
        }
        guard let node = fields["endpoints"] else {
            if fields.excused.isDisjoint(with: ["endpoints", "directory"]) {
                report(at: fields.mark, "\(fields.name) has neither `endpoints` nor `directory`; expected one of them")
            }
            return nil
        }
        let expected = "a list of etcd's addresses, such as [https://10.0.0.1:2379]"
        guard let nodes = list(node, "`endpoints`", expected: expected) else { return nil }
        if nodes.isEmpty { report(at: node.mark, "`endpoints` is empty; expected \(expected)") }
        return .etcd(
            nodes.compactMap { node in
                guard let text = text(node, "an endpoint", expected: "an address such as https://10.0.0.1:2379") else { return nil }
                guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
                    report(at: node.mark, "an endpoint is `\(text)`; expected an address such as https://10.0.0.1:2379")
                    return nil
                }
                return text
            }
        )
    }

    /// Reads the place at which the node listens for others; the certificates are those of `tls` unless there is `link_tls`.
    private mutating func links(_ fields: Fields, _ shared: ClusterConfiguration.Security) -> ClusterConfiguration.Links? {
        guard let node = fields["listen"] else {
            for key in ["address", "token_file", "link_tls"] {
                if let node = fields[key] { report(at: node.mark, "`\(key)` is for a node with `listen`") }
            }
            return nil
        }
        let listen = hostAndPort(node, "`listen`")
        let address = fields["address"].flatMap { self.hostAndPort($0, "`address`") }
        if let listen, fields["address"] == nil, ["0.0.0.0:", "[::]:"].contains(where: listen.hasPrefix) {
            report(at: node.mark, "`listen` is all addresses of this machine; add `address`, which other nodes dial")
        }
        let security = fields["link_tls"].map { self.security($0, "`link_tls`", .nodes) } ?? shared
        if [security.authority, security.certificate, security.key].contains(nil) {
            let place = fields["link_tls"] ?? node
            report(at: place.mark, "`listen` needs an authority, a certificate and its key; expected all three in `link_tls` or in `tls`")
        }
        let file = required("token_file", of: fields, expected: "the path of the file with the cluster's secret")
        let path = path(file, of: .linkToken, "`token_file`", expected: "the path of a file")
        guard let listen, let path else { return nil }
        return ClusterConfiguration.Links(listen: listen, address: address, tokenFile: path, security: security)
    }

    private mutating func hostAndPort(_ node: YAMLNode, _ name: String) -> String? {
        let expected = "a host and a port, such as 10.0.0.1:7400 or [fd00::1]:7400"
        guard let text = text(node, name, expected: expected) else { return nil }
        guard let colon = text.lastIndex(of: ":"), UInt16(text[text.index(after: colon)...]) != nil else {
            report(at: node.mark, "\(name) is `\(text)`; expected \(expected)")
            return nil
        }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let characters = isBracketed ? host.dropFirst().dropLast() : host
        let isPlain = characters.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: byte == UInt8(ascii: ":") && isBracketed
            }
        }
        if isPlain, (1...253).contains(characters.utf8.count) { return text }
        report(at: node.mark, "\(name) is `\(text)`; expected \(expected)")
        return nil
    }

    private mutating func security(_ node: YAMLNode, _ name: String, _ peer: ClusterFile.Peer) -> ClusterConfiguration.Security {
        var security = ClusterConfiguration.Security()
        guard let fields = self.fields(node, name, keys: ["authority", "certificate", "key", "crl"]) else { return security }
        let expected = "the path of a PEM file"
        let isStore = peer == .store
        let (authority, certificate): (ClusterFile, ClusterFile) =
            isStore ? (.storeAuthority, .storeCertificate) : (.linkAuthority, .linkCertificate)
        let (key, revocations): (ClusterFile, ClusterFile) = isStore ? (.storeKey, .storeRevocations) : (.linkKey, .linkRevocations)
        security.authority = path(fields["authority"], of: authority, "`authority`", expected: expected)
        security.certificate = path(fields["certificate"], of: certificate, "`certificate`", expected: expected)
        security.key = path(fields["key"], of: key, "`key`", expected: expected)
        security.revocations = path(fields["crl"], of: revocations, "`crl`", expected: expected)
        if let crl = fields["crl"], fields["authority"] == nil {
            report(at: crl.mark, "\(name) has `crl` without `authority`, whose list it is; expected both")
        }
        if (fields["certificate"] == nil) != (fields["key"] == nil) {
            report(at: fields.mark, "\(name) has one of `certificate` and `key`; expected both or none")
        }
        return security
    }

    /// Reads a name as a host's label has: letters, digits and hyphens.
    private mutating func label(_ node: YAMLNode, _ name: String) -> String? {
        let expected = "1 to 63 letters, digits and hyphens, with no hyphen at either end"
        guard let text = text(node, name, expected: expected) else { return nil }
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        if isPlain, text.utf8.count <= 63, !text.hasPrefix("-"), !text.hasSuffix("-") { return text }
        report(at: node.mark, "\(name) is `\(text)`; expected \(expected)")
        return nil
    }

    private mutating func labels(_ node: YAMLNode) -> [String: String] {
        guard case .mapping(let pairs) = node.content else {
            report(at: node.mark, "`labels` is \(node.summary); expected a mapping such as {disk: ssd}")
            return [:]
        }
        var labels: [String: String] = [:]
        for (key, value) in pairs {
            guard let key = text(key, "a label", expected: "a name"), let value = verbatim(value, "`\(key)`") else { continue }
            labels[key] = value
        }
        return labels
    }

    // MARK: - Children

    /// Reads `placement`: the word `cluster`, or what the child wants of its node.
    mutating func placement(_ node: YAMLNode, isAtTop: Bool) -> ClusterPlacement? {
        var placement = ClusterPlacement()
        guard isAtTop else {
            report(at: node.mark, "`placement` is for a child at the top of the file, which is placed with all that is below it")
            return nil
        }
        if let text = node.text {
            if text == "cluster" { return placement }
            let expected = "`cluster`, or a mapping with what the child wants of its node"
            report(at: node.mark, "`placement` is `\(text)`; expected \(expected)")
            return nil
        }
        guard let fields = self.fields(node, "`placement`", keys: ["labels", "apart", "weight", "moves"]) else { return nil }
        if let node = fields["labels"] { placement.labels = labels(node) }
        placement.apart = fields["apart"].flatMap { self.text($0, "`apart`", expected: "the name of a group of children") }
        if let node = fields["weight"] { placement.weight = wholeNumber(node, "`weight`", in: 0...1_000_000) ?? 1 }
        if let node = fields["moves"] { placement.moves = wholeNumber(node, "`moves`", in: 0...1_000) ?? 3 }
        return placement
    }
}
