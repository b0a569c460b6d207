package import DiamondSQLite

/// The SQL of every version of every database, embedded in the binary.
///
/// The scripts are in `.sql` files next to this one. They are never edited: each change of a schema is a new version.
package enum DiamondSchema {
    /// The configuration of `cache.sqlite`. Its application id reads `DiaC`.
    package static let cache: SQLiteConfiguration = {
        var configuration = SQLiteConfiguration(
            applicationID: 0x4469_6143,
            migrations: scripts(
                PackageResources.cache_v1_sql, PackageResources.cache_v2_sql, PackageResources.cache_v3_sql,
                PackageResources.cache_v4_sql)
        )
        configuration.firstVersionVaries = true
        return configuration
    }()

    /// The first version of the cache with the tables, indexes and triggers of the newest.
    package static let firstCacheForm: Int64 = 3

    /// The configuration of `replay.sqlite`. Its application id reads `DiaQ`. A commit survives a power failure.
    package static let replay: SQLiteConfiguration = {
        var configuration = SQLiteConfiguration(
            applicationID: 0x4469_6151,
            migrations: scripts(
                PackageResources.replay_v1_sql, PackageResources.replay_v2_sql, PackageResources.replay_v3_sql,
                PackageResources.replay_v4_sql)
        )
        configuration.synchronous = .full
        configuration.pageSize = 4096
        configuration.firstVersionVaries = true
        return configuration
    }()

    /// The versions of the queue on PostgreSQL.
    package static let replayPostgres = scripts(
        PackageResources.replay_postgres_v1_sql, PackageResources.replay_postgres_v2_sql)

    /// The versions of the cache on PostgreSQL.
    package static let cachePostgres = scripts(PackageResources.cache_postgres_v1_sql)

    private static func scripts(_ files: [UInt8]...) -> [String] { files.map { String(decoding: $0, as: UTF8.self) } }
}
