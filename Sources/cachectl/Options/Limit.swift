#if Tools
import ArgumentParser

/// A maximum number of results, 1 or more.
struct Limit {
    let count: Int
    /// The number of results to read: one more than is printed, to know whether there are more.
    var oneMore: Int { count < .max ? count + 1 : count }

    init(_ count: Int) { self.count = count }

    init(argument: String) throws {
        guard let count = Int(argument), count > 0 else { throw ValidationError("it is from 1 on") }
        self.count = count
    }
}
#endif
