import React from "react";

type Props = { title: string };

/** A card with a title. */
export const Card: React.FC<Props> = ({ title }) => {
  const handle = () => {};
  return <div onClick={handle}>{title}</div>;
};

export default function Page() {
  return <Card title="a < b" />;
}

// Remembers.
export const Row = React.memo(function Row({ id }: { id: string }) {
  const lines = [1].map((n) => n);
  return <li>{id}</li>;
});

const api = {
  load: async (id: string) => id,
} as const;
