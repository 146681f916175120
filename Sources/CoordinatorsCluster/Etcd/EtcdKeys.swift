import FoundationEssentials

/// The keys of one cluster as etcd has them, and requests in terms of these.
package struct EtcdKeys: Sendable {
    package let prefix: String

    init(cluster: String) { prefix = "/coordinators/\(cluster)/" }

    private func data(_ key: StoreKey) -> Data { Data((prefix + key.description).utf8) }

    func form(of range: StoreRange) -> EtcdForms.Range {
        let start: String
        switch range {
        case .key(let key): return EtcdForms.Range(key: data(key))
        case .folder(.leader): return EtcdForms.Range(key: data(.leader))
        case .folder(let folder): start = prefix + folder.rawValue
        case .everything: start = String(prefix.dropLast())
        }
        // "0" is the character after the slash.
        return EtcdForms.Range(key: Data("\(start)/".utf8), end: Data("\(start)0".utf8))
    }

    func form(of transaction: Transaction) -> EtcdForms.Transaction {
        EtcdForms.Transaction(
            compare: transaction.conditions.map(form),
            success: [form(of: transaction.write, to: transaction.key)] + transaction.others.map { form(of: $0.write, to: $0.key) },
            failure: transaction.otherwise.map { EtcdForms.Operation(range: EtcdForms.Range(key: data($0))) }
        )
    }

    private func form(of write: Transaction.Write, to key: StoreKey) -> EtcdForms.Operation {
        let key = data(key)
        return switch write {
        case .put(let value, let lease):
            EtcdForms.Operation(put: EtcdForms.Put(key: key, value: Data(value), lease: lease.map { EtcdNumber($0.rawValue) }))
        case .replace(let value): EtcdForms.Operation(put: EtcdForms.Put(key: key, value: Data(value), keepsLease: true))
        case .remove: EtcdForms.Operation(remove: EtcdForms.Range(key: key))
        }
    }

    private func form(of condition: Transaction.Condition) -> EtcdForms.Compare {
        // A key that doesn't exist has the revision 0.
        switch condition {
        case .created(let key, let revision):
            EtcdForms.Compare(key: data(key), target: "CREATE", created: EtcdNumber(revision))
        case .modified(let key, let revision):
            EtcdForms.Compare(key: data(key), target: "MOD", modified: EtcdNumber(revision))
        case .leased(let key, let lease):
            EtcdForms.Compare(key: data(key), target: "LEASE", lease: EtcdNumber(lease.rawValue))
        }
    }

    /// Reads an entry; `nil` when another program has made the key.
    func entry(_ form: EtcdForms.KeyValue) -> StoreEntry? {
        guard let key = key(form.key), let created = form.created, let modified = form.modified else { return nil }
        return StoreEntry(
            key: key,
            value: form.value.map { [UInt8]($0) } ?? [],
            created: StoreRevision(created.value),
            modified: StoreRevision(modified.value),
            lease: form.lease.flatMap { $0.value == 0 ? nil : LeaseIdentifier(rawValue: $0.value) }
        )
    }

    /// Reads a change; `nil` when the key is another program's.
    func change(_ form: EtcdForms.Event) -> StoreChange? {
        guard let pair = form.kv, let key = key(pair.key), let revision = pair.modified else { return nil }
        return StoreChange(key: key, revision: StoreRevision(revision.value), entry: form.type == "DELETE" ? nil : entry(pair))
    }

    private func key(_ bytes: Data) -> StoreKey? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasPrefix(prefix) ? StoreKey(String(text.dropFirst(prefix.count))) : nil
    }
}
