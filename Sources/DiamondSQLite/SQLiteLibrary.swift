import CDiamondSQLite

/// The SQLite library of this program.
package enum SQLiteLibrary {
    /// The version, such as `3.45.1`.
    package static var version: String { String(cString: sqlite3_libversion()) }

    /// The options it was built with, such as `SECURE_DELETE` or `THREADSAFE=1` (https://sqlite.org/compile.html).
    package static var options: [String] {
        var options: [String] = []
        while let option = sqlite3_compileoption_get(Int32(options.count)) { options.append(String(cString: option)) }
        return options
    }
}
