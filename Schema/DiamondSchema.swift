package import DiamondSQLite

/// The SQL of every shipped version of every database, embedded in the binary.
///
/// The scripts are in `.sql` files next to this one. They are never edited after a release.
package enum DiamondSchema {
    /// The configuration of `cache.sqlite`. Its application id reads `DiaC`.
    package static let cache = SQLiteConfiguration(
        applicationID: 0x4469_6143,
        migrations: [String(decoding: PackageResources.cache_v1_sql, as: UTF8.self)]
    )

    /// The configuration of `replay.sqlite`. Its application id reads `DiaQ`. A commit survives a power failure.
    package static let replay: SQLiteConfiguration = {
        var configuration = SQLiteConfiguration(
            applicationID: 0x4469_6151,
            migrations: [String(decoding: PackageResources.replay_v1_sql, as: UTF8.self)]
        )
        configuration.synchronous = .full
        configuration.pageSize = 4096
        return configuration
    }()
}
