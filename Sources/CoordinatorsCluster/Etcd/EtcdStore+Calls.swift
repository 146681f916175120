import ConcurrencySupport

extension EtcdStore {
    package func grant(_ id: LeaseIdentifier, timeToLive: Duration, before limit: ContinuousClock.Instant)
        async throws(StoreError) -> Duration?
    {
        let seconds = max(1, (timeToLive.wholeMilliseconds + 999) / 1000)
        do throws(EtcdFault) {
            let form = EtcdForms.Lease(id: EtcdNumber(id.rawValue), timeToLive: EtcdNumber(seconds))
            let answer = try await client.post("lease/grant", form, as: EtcdForms.Lease.self, before: limit)
            return .seconds(answer.timeToLive?.value ?? 0)
        } catch {
            if error.isLeaseThere { return nil }
            throw error.error("get a lease")
        }
    }

    package func keepAlive(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration? {
        do throws(EtcdFault) {
            let form = EtcdForms.Lease(id: EtcdNumber(id.rawValue), timeToLive: nil)
            let answer = try await client.post("lease/keepalive", form, as: EtcdForms.Result<EtcdForms.Lease>.self, before: limit)
            guard let result = answer.result else {
                throw .refused(code: answer.error?.code ?? 14, message: answer.error?.message ?? "the lease wasn't renewed")
            }
            // The keep-alive of a lease that has ended is answered without its time.
            guard let timeToLive = result.timeToLive?.value, timeToLive > 0 else { return nil }
            return .seconds(timeToLive)
        } catch {
            if error.isLeaseMissing { return nil }
            throw error.error("renew the lease \(id)")
        }
    }

    package func revoke(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) {
        do throws(EtcdFault) {
            let form = EtcdForms.Lease(id: EtcdNumber(id.rawValue), timeToLive: nil)
            _ = try await client.post("lease/revoke", form, as: EtcdForms.Empty.self, before: limit)
        } catch {
            if error.isLeaseMissing { return }
            throw error.error("end the lease \(id)")
        }
    }

    package func read(_ range: StoreRange, before limit: ContinuousClock.Instant) async throws(StoreError) -> StoreListing {
        do throws(EtcdFault) {
            let answer = try await client.post("kv/range", keys.form(of: range), as: EtcdForms.Listing.self, before: limit)
            guard let revision = answer.header?.revision?.value else { throw .unintelligible("a listing without a revision") }
            return StoreListing(revision: StoreRevision(revision), entries: (answer.kvs ?? []).compactMap(keys.entry))
        } catch {
            throw error.error("read \(range)")
        }
    }

    package func commit(_ transaction: Transaction, before limit: ContinuousClock.Instant) async throws(StoreError)
        -> TransactionResult
    {
        do throws(EtcdFault) {
            let answer = try await client.post("kv/txn", keys.form(of: transaction), as: EtcdForms.Outcome.self, before: limit)
            guard answer.succeeded == true else {
                let found = (answer.responses ?? []).flatMap { $0.range?.kvs ?? [] }
                return .refused(found.compactMap(keys.entry))
            }
            guard let revision = answer.header?.revision?.value else { throw .unintelligible("a transaction without a revision") }
            return .written(StoreRevision(revision))
        } catch {
            if error.isLeaseMissing, case .put(_, let lease?) = transaction.write { throw .leaseLost(lease) }
            throw error.error("write \(transaction.key)")
        }
    }
}

extension StoreRevision {
    init(_ number: Int64) { self.init(rawValue: UInt64(clamping: number)) }
}
