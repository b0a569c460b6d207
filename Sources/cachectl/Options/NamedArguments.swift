#if Tools
public import ArgumentParser
public import Diamond

// Arguments that name values of Diamond.

extension ReplayState: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public static var allValueStrings: [String] { allCases.map(\.description) }
}

extension ReplayPolicy.Uniqueness: ExpressibleByArgument {}
#endif
