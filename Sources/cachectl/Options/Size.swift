#if Tools
import ArgumentParser

/// A number of bytes from the command line: `100MB`, `1.5GiB`, `65536`.
struct Size: ExpressibleByArgument {
    var bytes: Int64

    /// The units. Longer names come first, because `MB` ends with `B`.
    private static let units: [(name: String, bytes: Double)] = [
        ("KiB", 1024), ("MiB", 1_048_576), ("GiB", 1_073_741_824), ("TiB", 1_099_511_627_776), ("kB", 1e3),
        ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("B", 1),
    ]

    init(bytes: Int64) { self.bytes = bytes }

    init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.name) } ?? ("", 1)
        let number = argument.dropLast(unit.name.count)
        // Digits and one point: Double also reads `inf`, `0x1p3` and `1e9`.
        guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let count = Double(number) else {
            return nil
        }
        let bytes = count * unit.bytes
        guard bytes < 9e18 else { return nil }
        self.bytes = Int64(bytes)
    }
}
#endif
