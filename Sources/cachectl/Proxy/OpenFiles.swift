#if Tools
import Foundation

/// The limit of open files of the process.
enum OpenFiles {
    /// Raises the limit to 65,536, or as far as the system allows. A client's connection takes one file, and its
    /// exchange with the server another.
    static func raiseLimit() {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }
}
#endif
