#if os(Linux)
import Foundation

/// The resources that the test process uses.
package enum ProcessUsage {
    /// The resident memory in bytes.
    package static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
    }

    /// Returns the kernel's numbers of the threads with this name.
    package static func threads(named name: String) -> Set<Int> {
        let all = entries(of: "/proc/self/task")
        return Set(all.filter { self.name(of: "/proc/self/task/\($0)") == name }.compactMap { Int($0) })
    }

    package static var threadCount: Int { entries(of: "/proc/self/task").count }

    /// The number of open descriptors of each file, and of each kind of unnamed object, such as `socket` and
    /// `anon_inode:inotify`.
    package static var descriptors: [String: Int] {
        let targets = entries(of: "/proc/self/fd").compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
        }
        return Dictionary(targets.map { ($0.replacing(#/:\[\d+\]$/#, with: ""), 1) }, uniquingKeysWith: +)
    }

    private static func entries(of directory: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    }

    /// The name of the calling thread.
    package static var threadName: String? { name(of: "/proc/thread-self") }

    private static func name(of thread: String) -> String? {
        let text = try? String(contentsOfFile: "\(thread)/comm", encoding: .utf8)
        return text?.trimmingCharacters(in: .newlines)
    }
}
#endif
