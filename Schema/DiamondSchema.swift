package import DiamondSQLite

/// The SQL of every shipped version of every database, embedded in the binary.
///
/// The scripts stand in `.sql` files beside this one and are never edited after a release.
package enum DiamondSchema {
    /// `cache.sqlite`; its application id reads `DiaC`.
    package static let cache = SQLiteConfiguration(
        applicationID: 0x4469_6143,
        migrations: [String(decoding: PackageResources.cache_v1_sql, as: UTF8.self)]
    )

    /// `replay.sqlite`; its application id reads `DiaQ`. A commit survives the loss of power.
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
