#if Tools
import ArgumentParser
import Diamond

/// Which store a command works on, and the key that it is sealed with.
struct StoreOptions: ParsableArguments {
    @OptionGroup var place: PlaceOptions

    @OptionGroup var sealing: SealOptions

    var json: Bool { place.json }

    var location: Store { place.location }

    /// What requests are keyed and sent with.
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

    /// Ends with 5 where a key is missing that opens what was looked at.
    func refuseLocked(_ cache: Cache) throws {
        if let complaint = try sealing.complaint(of: cache) { throw Failure.report(Failure.sealed, complaint) }
    }
}
#endif
