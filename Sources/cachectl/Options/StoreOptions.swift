#if Tools
import ArgumentParser
import Diamond
import DiamondInspection

/// The store of a command, and the keys that seal it.
struct StoreOptions: ParsableArguments {
    @OptionGroup var place: PlaceOptions

    @OptionGroup var sealing: SealOptions

    var json: Bool { place.json }

    var location: Store { place.location }

    var optionText: String { place.optionText }

    /// Returns the configuration for keys and for sending.
    func configuration() throws -> Engine.Configuration {
        var configuration = Engine.Configuration(store: location)
        configuration.seal = try sealing.seal()
        configuration.credentials = EnvironmentSecrets()
        return configuration
    }

    /// Opens the cache of an existing store, without a limit of its own. Throws if there is none: it creates no cache.
    func openCache() throws -> Cache {
        let seal = try sealing.seal()
        return try Cache(location, seal: seal, diskCapacity: .max, create: false)
    }

    /// Returns the cache for a command that sends; `nil` if there is none, or if it is damaged, because engines then
    /// replace it.
    func findCache(seal: (any CacheSeal)?) throws(CacheError) -> Cache? {
        do throws(CacheError) {
            return try Cache(location, seal: seal, create: false)
        } catch  where [.noStore, .corrupt].contains(error.code) {
            return nil
        }
    }

    /// Opens the store's queue. Throws if there is none: it creates no queue, and seals none.
    func openQueue() throws -> ReplayQueue {
        let seal = try sealing.seal()
        return try ReplayQueue(existing: location, seal: seal)
    }

    /// Opens the store's queue. Returns `nil` if the store exists and has no queue, and throws if there is no store.
    func findQueue() throws -> ReplayQueue? {
        let seal = try sealing.seal()
        do throws(ReplayError) {
            return try ReplayQueue(existing: location, seal: seal)
        } catch {
            guard error.code == .noStore, location.isThere else { throw error }
            return nil
        }
    }

    /// Throws exit code 5 if the store is sealed and no given key opens it.
    func refuseLocked(_ cache: Cache) throws {
        if let problem = try sealing.problem(of: cache) { throw Failure.report(Failure.sealed, problem) }
    }

    /// Throws exit code 5 if the store or some of its entries are sealed with a key that was not given.
    func refuseLockedEntries(in cache: Cache) throws {
        if let problem = try sealing.problemOfEntries(in: cache) { throw Failure.report(Failure.sealed, problem) }
    }
}

extension Engine.Configuration {
    /// Uses the disk capacity of the programs that fill a store.
    ///
    /// With the default capacity, the engine would evict their entries and record that capacity in the store.
    mutating func useCapacity(of cache: Cache) { diskCapacity = cache.effectiveCapacity ?? diskCapacity }
}

extension Cache {
    /// The disk capacity that programs have recorded in the store; `nil` if the default applies.
    ///
    /// If none is recorded and the store is larger than the default capacity, it is twice the used bytes. Otherwise the
    /// next entry would evict at least a tenth of the store.
    var effectiveCapacity: Int64? {
        if let recorded = try? recordedCapacity() { return recorded }
        guard let usage = try? usage(of: Self.defaultDiskCapacity), usage.used > usage.bound else { return nil }
        return usage.used * 2
    }
}
#endif
