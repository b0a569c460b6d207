#if Tools
import ArgumentParser

/// A number at most: from 1 on.
struct Limit {
    let count: Int
    /// One more than is shown tells whether there is one.
    var oneMore: Int { count < .max ? count + 1 : count }

    init(_ count: Int) { self.count = count }

    init(argument: String) throws {
        guard let count = Int(argument), count > 0 else { throw ValidationError("it is from 1 on") }
        self.count = count
    }
}
#endif
