#if Tools
import ArgumentParser
import Diamond
import DiamondInspection

/// Which store a command works on, and the key that it is sealed with.
struct StoreOptions: ParsableArguments {
    @OptionGroup var place: PlaceOptions

    @OptionGroup var sealing: SealOptions

    var json: Bool { place.json }

    var location: Store { place.location }

    /// Returns the configuration that requests are keyed and sent with.
    func configuration() throws -> Engine.Configuration {
        var configuration = Engine.Configuration(store: location)
        configuration.seal = try sealing.seal()
        configuration.credentials = EnvironmentSecrets()
        return configuration
    }

    /// The cache of a store that exists; inspecting makes none. Its bound is that of the programs it belongs to.
    func openCache() throws -> Cache {
        let seal = try sealing.seal()
        do throws(CacheError) {
            return try Cache(location, seal: seal, diskCapacity: .max, create: false)
        } catch {
            throw Failure.report(error)
        }
    }

    /// Returns the cache for commands that send. `nil` where there is none yet, or a damaged one, in whose place
    /// engines begin another.
    func findCache(_ seal: (any CacheSeal)?) throws(CacheError) -> Cache? {
        do throws(CacheError) {
            return try Cache(location, seal: seal, create: false)
        } catch  where [.noStore, .corrupt].contains(error.code) {
            return nil
        }
    }

    /// Ends with 5 where a key is missing that opens what was looked at.
    func refuseLocked(_ cache: Cache) throws {
        if let complaint = try sealing.complaint(of: cache) { throw Failure.report(Failure.sealed, complaint) }
    }

    /// Ends with 5 where a key is missing, also where the given key opens the store, and not the entries that were
    /// looked at.
    func refuseLockedEntries(in cache: Cache) throws {
        if let complaint = try sealing.complaintOfEntries(in: cache) { throw Failure.report(Failure.sealed, complaint) }
    }
}

extension Engine.Configuration {
    /// Takes the bound of the programs that fill a store: with that of a program that names none, an engine would evict
    /// what is theirs, and say that it were the store's.
    mutating func takeBound(of cache: Cache) { diskCapacity = cache.boundOfPrograms ?? diskCapacity }
}

extension Cache {
    /// The bound that the programs have recorded. Where they have recorded none, a store that holds more than a program
    /// without a bound would keep has another one: twice its use. That leaves room for new entries, for which a tenth
    /// of the store would be evicted otherwise.
    var boundOfPrograms: Int64? {
        if let recorded = try? recordedCapacity() { return recorded }
        guard let usage = try? usage(of: Self.defaultDiskCapacity), usage.used > usage.bound else { return nil }
        return usage.used * 2
    }
}
#endif
