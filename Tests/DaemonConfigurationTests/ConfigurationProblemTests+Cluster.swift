import DaemonConfiguration
import Processes
import Testing

extension ConfigurationProblemTests {
    private static let cluster = "children: []\ncluster:\n  name: shop\n  directory: /epochs\n"

    /// Problems of a node that listens for others.
    static let rowsOfLinks: [Row] = [
        Row(
            "a node that listens without what it needs",
            cluster + "  listen: 10.0.0.1:7400\n",
            "f:5:11: `cluster` has no `token_file`; expected the path of the file with the cluster's secret",
            "f:5:11: `listen` needs an authority, a certificate and its key; expected all three in `link_tls` or in `tls`"
        ),
        Row(
            "bad addresses",
            cluster + """
                  listen: 10.0.0.1
                  address: "http://node-a:7400"
                  token_file: ~/token
                  link_tls: { authority: a, certificate: b }
                """,
            "f:5:11: `listen` is `10.0.0.1`; expected a host and a port, such as 10.0.0.1:7400 or [fd00::1]:7400",
            "f:6:12: `address` is `http://node-a:7400`; expected a host and a port, such as 10.0.0.1:7400 or [fd00::1]:7400",
            "f:7:15: `token_file` is `~/token`, and no shell replaces `~` here; expected the path written out",
            "f:8:13: `link_tls` has one of `certificate` and `key`; expected both or none",
            "f:8:13: `listen` needs an authority, a certificate and its key; expected all three in `link_tls` or in `tls`"
        ),
        Row(
            "a password for all to hear, and a list of no authority",
            """
            children: []
            cluster:
              name: shop
              endpoints: ["https://10.0.0.1:2379", "http://10.0.0.2:2379"]
              user: node
              password_file: /password
              tls: { crl: /ca.crl }
            """,
            "f:4:40: `http://10.0.0.2:2379` would get the password of `password_file` unencrypted; expected an address with https://",
            "f:7:15: `tls` has `crl` without `authority`, whose list it is; expected both"
        ),
        Row(
            "all addresses of the machine, which no node can dial",
            cluster + "  listen: 0.0.0.0:7400\n  token_file: token\n  tls: { authority: a, certificate: b, key: c }\n",
            "f:5:11: `listen` is all addresses of this machine; add `address`, which other nodes dial"
        ),
        Row(
            "what is for a node that listens",
            cluster + "  address: a:1\n  token_file: token\n  link_tls: {}\n",
            "f:5:12: `address` is for a node with `listen`",
            "f:6:15: `token_file` is for a node with `listen`",
            "f:7:13: `link_tls` is for a node with `listen`"
        ),
    ]

    @Test("Every file × every mode: the owner's group may read a secret, and no one else", arguments: ClusterFile.allCases)
    func modes(_ file: ClusterFile) {
        let isSecret = [.linkToken, .linkKey, .storeKey, .storePassword].contains(file)
        for mode in 0...UInt32(0o777) {
            let isOpen = isSecret ? mode & 0o7 != 0 || mode & 0o020 != 0 : mode & 0o002 != 0
            let problem = file.at("/f").problem(ofMode: 0o100000 | mode)
            #expect((problem != nil) == isOpen, "\(String(mode, radix: 8)): \(problem ?? "")")
        }
    }

    @Test("Every file × every owner: a secret is root's or the user's own", arguments: ClusterFile.allCases)
    func owners(_ file: ClusterFile) {
        let isSecret = [.linkToken, .linkKey, .storeKey, .storePassword].contains(file)
        for user in [0, 1_000] as [UInt32] {
            for owner in [0, 1_000, 1_001, .max] as [UInt32] {
                let isForeign = isSecret && owner != 0 && owner != user
                #expect((file.at("/f").problem(ofOwner: owner, to: user) != nil) == isForeign, "\(owner) for \(user)")
            }
        }
    }

    @Test("The place at which a node listens for others")
    func links() throws {
        func links(_ text: String) throws -> ClusterConfiguration.Links? {
            try DaemonConfiguration.parse(text: Self.cluster + text, file: "f").cluster?.links
        }
        #expect(try links("") == nil)
        var security = ClusterConfiguration.Security()
        (security.authority, security.certificate, security.key) = ("a", "b", "c")
        let shared = "  tls: { authority: a, certificate: b, key: c }\n"
        #expect(
            try links("  listen: '[::]:7400'\n  address: node-a.example:7400\n  token_file: token\n" + shared)
                == ClusterConfiguration.Links(
                    listen: "[::]:7400",
                    address: "node-a.example:7400",
                    tokenFile: "token",
                    security: security
                )
        )
        // The certificates for etcd may be others.
        let own = "  link_tls: { authority: d, certificate: e, key: f }\n"
        let links = try #require(try links("  listen: 10.0.0.1:7400\n  token_file: token\n" + shared + own))
        #expect(links.address == nil && links.security.authority == "d" && links.security.certificate == "e" && links.security.key == "f")
    }

    @Test("A file with placement and without a cluster is no bad one: whether a daemon starts with it is a matter of its options")
    func placementAlone() throws {
        let placed = "children: [{ name: a, program: { command: [cat] }, placement: cluster }]\n"
        let cluster = "cluster: { name: shop, directory: /epochs }\n"
        let files: [(String, [String])] = [(placed, ["a"]), (placed + cluster, []), ("children: []\n", [])]
        for (text, names) in files {
            let configuration = try DaemonConfiguration.parse(text: text, file: "f")
            #expect(configuration.placedWithoutCluster.map(\.key) == names)
            #expect((configuration.clusterRemark == nil) == names.isEmpty, "\(configuration.clusterRemark ?? "")")
        }
    }
}
