import Diamond

extension CacheStorageSuite.Check {
    /// The checks of a ``/Diamond/LeasingCacheStorage``. Other storages pass them.
    static let leasing = [
        Self("a lease belongs to one process until that ends it") { run in
            guard let (one, other) = run.leasing else { return }
            let lease = CacheLease(on: try run.key("a"), name: "1")
            let same = CacheLease(on: lease.key, name: "1")
            try run.expect(try await !other.isTaken(same), "a lease is taken that nobody took")
            try run.expect(try await one.take(lease, for: .seconds(60)), "a free lease was not taken")
            try run.expect(try await !other.take(same, for: .seconds(60)), "a lease was taken twice")
            for next in [CacheLease(on: lease.key, name: "2"), CacheLease(on: try run.key("b"), name: "1")] {
                try run.expect(try await other.take(next, for: .seconds(60)), "another lease was not taken")
            }
            try await other.end(same)
            try run.expect(try await other.isTaken(same), "a lease was ended by a process that does not have it")
            try run.expect(
                try await other.records(under: lease.key, bodyLimit: .max).isEmpty, "a lease is found as a record")
            try await one.end(lease)
            try run.expect(try await !other.isTaken(same), "a lease was not ended")
            try run.expect(try await other.take(same, for: .seconds(60)), "a lease that was ended was not taken")
        },
        Self("a lease ends when its time is up") { run in
            guard let (one, other) = run.leasing else { return }
            let lease = CacheLease(on: try run.key("a"), name: "1")
            try run.expect(try await one.take(lease, for: .milliseconds(20)), "a free lease was not taken")
            let next = CacheLease(on: lease.key, name: "1")
            for _ in 0..<400 where try await !other.take(next, for: .seconds(60)) {
                try await Task.sleep(for: .milliseconds(5))
            }
            try await one.end(lease)
            try run.expect(try await one.isTaken(lease), "the lease did not end, or its former process ended the next")
        },
    ]
}

extension CacheStorageRun {
    /// The instances of two processes, if they have leases.
    fileprivate var leasing: (one: any LeasingCacheStorage, other: any LeasingCacheStorage)? {
        guard let one = storage as? any LeasingCacheStorage, let other = other as? any LeasingCacheStorage else {
            return nil
        }
        return (one, other)
    }
}
