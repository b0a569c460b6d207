import Foundation

/// The time that the calling thread was ready to run without a processor, from Linux's `schedstat` (proc(5)); 0 on
/// other systems.
///
/// On a shared machine, it is most of the longest measured times.
struct ProcessorWait: ~Copyable {
    private let file = open("/proc/thread-self/schedstat", O_RDONLY)

    var seconds: Double {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(file, &bytes, bytes.count, 0)
        let fields = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let nanoseconds = Double(fields[1]) else { return 0 }
        return nanoseconds / 1e9
    }

    deinit { close(file) }
}
