#if Tools
import Diamond

extension String {
    /// As it is where no shell minds, else in quotes.
    var shellArgument: String {
        let isPlain = allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._/".contains($0)) }
        return isPlain && !isEmpty ? self : shellWord
    }
}
#endif
